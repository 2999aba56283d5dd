// Mixed.java - integers, floating point, strings, maps, exceptions and threads: one line that depends on every result.
import java.util.*;
import java.util.stream.*;

public class Mixed {
    static long depth(int left) {
        if (left == 0)
            throw new IllegalStateException("bottom");
        return depth(left - 1) + 1;
    }

    public static void main(String[] arguments) {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 40;
        Random random = new Random(5);
        long hash = 17;
        for (int round = 0; round < rounds; round++) {
            List<Integer> numbers = new ArrayList<>();
            Map<String, Integer> counts = new TreeMap<>();
            for (int i = 0; i < 20000; i++) {
                numbers.add(random.nextInt());
                counts.merge("k" + i % 997, i, Integer::sum);
            }
            Collections.sort(numbers);
            double[] roots = new double[50000];
            for (int i = 0; i < roots.length; i++)
                roots[i] = Math.sqrt(i) * Math.sin(round + i) / (i + 1);
            double sum = 0;
            for (double root : roots)
                sum += root;
            try {
                hash += depth(50 + round % 10);
            } catch (IllegalStateException error) {
                hash ^= error.getMessage().hashCode();
            }
            hash = hash * 31 + numbers.hashCode();
            hash = hash * 31 + counts.toString().hashCode();
            hash = hash * 31 + Double.doubleToLongBits(sum);
            hash = hash * 31 + LongStream.range(0, 30000).parallel().map(n -> n * n % 1009).sum();
        }
        System.out.println(hash);
    }
}
