// make FILE KEYS BITS, ask FILE KEYS: with goleveldb's filter. KEYS has one key a line; what is asked
// is answered with a 0 or 1 a key.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/util"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[3])
	check(err)
	keys := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if os.Args[1] == "make" {
		bits, err := strconv.Atoi(os.Args[4])
		check(err)
		generator := filter.NewBloomFilter(bits).NewGenerator()
		for _, key := range keys {
			generator.Add(key)
		}
		out := &util.Buffer{}
		generator.Generate(out)
		check(os.WriteFile(os.Args[2], out.Bytes(), 0o644))
		return
	}
	block, err := os.ReadFile(os.Args[2])
	check(err)
	policy := filter.NewBloomFilter(10)
	for _, key := range keys {
		if policy.Contains(block, key) {
			fmt.Print("1")
		} else {
			fmt.Print("0")
		}
	}
	fmt.Println()
}
