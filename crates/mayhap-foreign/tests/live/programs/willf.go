// make FILE KEYS N P, ask FILE KEYS: with willf/bloom, now bits-and-blooms/bloom. KEYS has one key a
// line; a FILE that ends in .json is JSON. What is asked is answered with a 0 or 1 a key.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/willf/bloom"
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
	isJSON := strings.HasSuffix(os.Args[2], ".json")
	if os.Args[1] == "make" {
		n, err := strconv.ParseUint(os.Args[4], 10, 64)
		check(err)
		p, err := strconv.ParseFloat(os.Args[5], 64)
		check(err)
		filter := bloom.NewWithEstimates(uint(n), p)
		for _, key := range keys {
			filter.Add(key)
		}
		if isJSON {
			text, err := json.Marshal(filter)
			check(err)
			check(os.WriteFile(os.Args[2], text, 0o644))
			return
		}
		out, err := os.Create(os.Args[2])
		check(err)
		_, err = filter.WriteTo(out)
		check(err)
		check(out.Close())
		return
	}
	filter := &bloom.BloomFilter{}
	file, err := os.ReadFile(os.Args[2])
	check(err)
	if isJSON {
		check(json.Unmarshal(file, filter))
	} else {
		_, err = filter.ReadFrom(bytes.NewReader(file))
		check(err)
	}
	for _, key := range keys {
		if filter.Test(key) {
			fmt.Print("1")
		} else {
			fmt.Print("0")
		}
	}
	fmt.Println()
}
