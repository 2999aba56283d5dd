# A thin layer over Meson: the commands a newcomer types. Each installs what is missing first.
BUILD ?= build

.PHONY: all configured deps deps-all deps-soak demo test quick bench soak lint format install uninstall dist deb check-packages check-fresh clean

.NOTPARALLEL:

all: configured
	@ninja -C $(BUILD)

# Again when packages came or went since: every target may be the first, in any order.
configured:
	@[ -f $(BUILD)/build.ninja ] || scripts/install-deps
	@scripts/configure $(BUILD) $(if $(PREFIX),--prefix=$(PREFIX))

$(BUILD)/build.ninja:
	@$(MAKE) --no-print-directory configured

deps:
	@scripts/install-deps

deps-all:
	@scripts/install-deps --all

deps-soak:
	@scripts/install-deps --soak

# Records a program with a NUMA mistake in it and says what is wrong.
demo: deps configured
	@ninja -C $(BUILD) src/cli/numalens src/agent/libnumalens-agent.so examples/demo
	@scripts/demo $(BUILD)

# Every test there is; ends with "N passed, N failed, N skipped".
test: deps-all
	@scripts/test

# Unit tests only, in seconds.
quick: all
	@meson test -C $(BUILD) --print-errorlogs

bench: deps-all all
	@scripts/bench $(BUILD)

# Many programs in many ways, plain and recorded; kills and pauses at random moments: docs/reliability.md.
soak: deps-soak all
	@NUMALENS_BUILD=$(abspath $(BUILD)) tests/soak/matrix.py --write docs/reliability.md
	@NUMALENS_BUILD=$(abspath $(BUILD)) tests/soak/kills.py
	@NUMALENS_BUILD=$(abspath $(BUILD)) tests/soak/truth.py
	@NUMALENS_BUILD=$(abspath $(BUILD)) tests/soak/outside.py

lint: deps-all all
	@scripts/lint $(BUILD)

format:
	@scripts/format

# ldconfig, so that programs find libnumalens at once; without the right to, the installation is good all the same.
# PREFIX stays that of the build folder. Never configured again: root may have another PATH, without node.
install: $(BUILD)/build.ninja
	@ninja -C $(BUILD)
	@$(if $(PREFIX),meson configure $(BUILD) -Dprefix=$(PREFIX))
	@meson install -C $(BUILD)
	@cp $(BUILD)/meson-logs/install-log.txt $(BUILD)/installed.txt
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

# What the last `make install` installed, with the folders that are empty then.
uninstall:
	@scripts/uninstall $(BUILD)
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

# The source tarball, with the page built: build/meson-dist. Of what is committed.
dist: configured
	@meson dist -C $(BUILD) --no-tests

# Debian packages: build/deb. docs/install.md.
deb:
	@scripts/install-deps --deb
	@scripts/deb $(BUILD)

# The packages in an empty Debian. As root.
check-packages: deb
	@scripts/check-packages $(BUILD)

# The README's commands in an empty Debian, in its order; WHOLE=1: make test as well. As root.
check-fresh:
	@scripts/check-fresh $(if $(WHOLE),--test)

clean:
	rm -rf build build-asan
