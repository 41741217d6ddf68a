// SPDX-License-Identifier: Apache-2.0

// Lattigo's bootstrapping of CKKS: reads a case on the command line, prints one JSON object.
//
// Usage: lattigo_bootstraps REPETITIONS
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

type answer struct {
	Library     string  `json:"library"`
	Params      string  `json:"params"`
	SlotsLog2   int     `json:"slots_log2"`
	Levels      int     `json:"levels"`
	LevelBits   float64 `json:"level_bits"`
	LogQP       float64 `json:"log_qp"`
	KeysS       float64 `json:"keys_s"`
	Ms          float64 `json:"ms"`
	RandomLog2  float64 `json:"random_log2"`
	ExtremeLog2 float64 `json:"extreme_log2"`
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	repetitions := must(strconv.Atoi(os.Args[1]))
	// Of the default sets the one with our ring and levels.
	set := bootstrapping.N16QP1546H192H32
	params := must(ckks.NewParametersFromLiteral(set.SchemeParams))
	boot := must(bootstrapping.NewParametersFromLiteral(params, set.BootstrappingParams))

	start := time.Now()
	secret, public := rlwe.NewKeyGenerator(params).GenKeyPairNew()
	keys, _, err := boot.GenEvaluationKeys(secret)
	must(0, err)
	evaluator := must(bootstrapping.NewEvaluator(boot, keys))
	keysS := time.Since(start).Seconds()

	encoder := ckks.NewEncoder(params)
	encryptor, decryptor := rlwe.NewEncryptor(params, public), rlwe.NewDecryptor(params, secret)
	times := []float64{}
	levels := 0
	largest := func(values []complex128) float64 {
		plaintext := ckks.NewPlaintext(params, 0)
		must(0, encoder.Encode(values, plaintext))
		ciphertext := must(encryptor.EncryptNew(plaintext))
		start := time.Now()
		fresh := must(evaluator.Bootstrap(ciphertext))
		times = append(times, time.Since(start).Seconds()*1e3)
		levels = fresh.Level()
		found := make([]complex128, params.MaxSlots())
		must(0, encoder.Decode(decryptor.DecryptNew(fresh), found))
		worst := 0.0
		for slot, value := range values {
			worst = math.Max(worst, cmplx.Abs(found[slot]-value))
		}
		return math.Log2(worst)
	}
	slots := params.MaxSlots()
	random, extreme := make([]complex128, slots), make([]complex128, slots)
	for slot := range random {
		part := func(seed uint64) float64 {
			word := (uint64(slot)*2 + seed + 1) * 0x9E3779B97F4A7C15
			word = (word ^ word>>30) * 0xBF58476D1CE4E5B9
			word = (word ^ word>>27) * 0x94D049BB133111EB
			return float64((word^word>>31)>>11)/(1<<52) - 1
		}
		random[slot], extreme[slot] = complex(part(0), part(1)), complex(1, -1)
	}
	found := answer{
		Library: "Lattigo 6.2.0", Params: "N16QP1546H192H32", SlotsLog2: params.LogMaxSlots(),
		LevelBits: float64(params.LogDefaultScale()), LogQP: boot.BootstrappingParameters.LogQP(), KeysS: keysS,
	}
	found.RandomLog2 = largest(random)
	found.ExtremeLog2 = largest(extreme)
	// The first finds no buffers.
	times = times[1:]
	for len(times) < repetitions {
		found.RandomLog2 = math.Max(found.RandomLog2, largest(random))
	}
	sort.Float64s(times)
	found.Levels, found.Ms = levels, times[len(times)/2]
	must(0, json.NewEncoder(os.Stdout).Encode(found))
}
