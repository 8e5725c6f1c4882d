// make FILE KEYS N P, ask FILE KEYS: with Guava's BloomFilter. KEYS has one key a line; a fourth or
// sixth argument "long" takes them for numbers. What is asked is answered with a 0 or 1 a key.

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

public class Guava {
    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[1]);
        List<String> keys = Files.readAllLines(Path.of(args[2]), StandardCharsets.UTF_8);
        boolean longs = args[args.length - 1].equals("long");
        StringBuilder answers = new StringBuilder();
        if (args[0].equals("make")) {
            int n = Integer.parseInt(args[3]);
            double p = Double.parseDouble(args[4]);
            try (OutputStream out = Files.newOutputStream(file)) {
                if (longs) {
                    BloomFilter<Long> filter = BloomFilter.create(Funnels.longFunnel(), n, p);
                    keys.forEach(key -> filter.put(Long.parseLong(key)));
                    filter.writeTo(out);
                } else {
                    BloomFilter<CharSequence> filter =
                        BloomFilter.create(Funnels.stringFunnel(StandardCharsets.UTF_8), n, p);
                    keys.forEach(filter::put);
                    filter.writeTo(out);
                }
            }
            return;
        }
        try (InputStream in = Files.newInputStream(file)) {
            if (longs) {
                BloomFilter<Long> filter = BloomFilter.readFrom(in, Funnels.longFunnel());
                keys.forEach(key -> answers.append(filter.mightContain(Long.parseLong(key)) ? 1 : 0));
            } else {
                BloomFilter<CharSequence> filter =
                    BloomFilter.readFrom(in, Funnels.stringFunnel(StandardCharsets.UTF_8));
                keys.forEach(key -> answers.append(filter.mightContain(key) ? 1 : 0));
            }
        }
        System.out.println(answers);
    }
}
