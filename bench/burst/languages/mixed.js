// mixed.js - integers, floating point, strings, maps, exceptions, big integers: one line that depends on every result.
const rounds = Number(process.argv[2] || 40);
let hash = 17n;
let seed = 5;
const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff);
const mix = (value) => { hash = (hash * 31n + BigInt(value)) & 0xffffffffffffffffn; };
const bits = new DataView(new ArrayBuffer(8));
const depth = (left) => { if (!left) throw new RangeError('bottom'); return depth(left - 1) + 1; };
for (let round = 0; round < rounds; round++) {
  const numbers = Array.from({ length: 20000 }, random).sort((a, b) => a - b);
  numbers.forEach((n, i) => { if (i % 100 === 0) mix(n); });
  const counts = new Map();
  for (let i = 0; i < 20000; i++) counts.set('k' + i % 997, (counts.get('k' + i % 997) || 0) + i);
  mix(JSON.stringify([...counts]).length);
  const roots = Float64Array.from({ length: 50000 }, (_, i) => Math.sqrt(i) * Math.sin(round + i) / (i + 1));
  bits.setFloat64(0, roots.reduce((a, b) => a + b, 0));
  mix(bits.getBigUint64(0));
  try { depth(50); } catch (error) { mix(error.message.length); }
  mix(/(\d+)$/.exec('x'.repeat(500) + random())[1]);
}
console.log(String(hash));
