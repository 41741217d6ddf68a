// SPDX-License-Identifier: Apache-2.0

// Lattigo on one row of the side-by-side benchmark: reads the vectors or the programs on standard input, prints one JSON object.
//
// Usage: lattigo_adapter TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

const (
	plaintextModulus = 65537
	// CKKS computes on value / 128.
	realUnit = 128.0
	// What takes longer than this many milliseconds is repeated only so often.
	slowMs = 100.0
	few    = 5
)

type answer struct {
	Library         string               `json:"library"`
	Degree          int                  `json:"degree"`
	Slots           int                  `json:"slots"`
	QPrimes         int                  `json:"q_primes"`
	PPrimes         int                  `json:"p_primes"`
	LogQ            float64              `json:"log_q"`
	LogP            float64              `json:"log_p"`
	Note            string               `json:"note"`
	Repetitions     int                  `json:"repetitions"`
	TimesMs         map[string]float64   `json:"times_ms"`
	CiphertextBytes int                  `json:"ciphertext_bytes"`
	KeyBytes        int                  `json:"key_bytes"`
	PeakMb          float64              `json:"peak_mb"`
	Values          map[string][]float64 `json:"values"`
}

type request struct {
	table, scheme, encryption string
	logN                      int
	qBits, pBits              []int
	repetitions               int
}

// engine is a scheme with its parameters; messages are at the top level.
type engine interface {
	rlwe() rlwe.Parameters
	slots() int
	rotation(places int) uint64
	encode(values []int64) *rlwe.Plaintext
	decode(plaintext *rlwe.Plaintext, count int) []float64
	// use hands over the evaluation keys.
	use(keys rlwe.EvaluationKeySet)
	add(a, b *rlwe.Ciphertext) *rlwe.Ciphertext
	// multiply relinearises; in CKKS it rescales too.
	multiply(a, b *rlwe.Ciphertext) *rlwe.Ciphertext
	// multiplyDown relinearises and goes one level down where levels exist.
	multiplyDown(a, b *rlwe.Ciphertext) *rlwe.Ciphertext
	rotate(a *rlwe.Ciphertext, places int) *rlwe.Ciphertext
	// What programs need beside: addClear and multiplyClear take a vector, products are one level down as in multiplyDown.
	sub(a, b *rlwe.Ciphertext) *rlwe.Ciphertext
	negate(a *rlwe.Ciphertext) *rlwe.Ciphertext
	addClear(a *rlwe.Ciphertext, values []int64) *rlwe.Ciphertext
	multiplyClear(a *rlwe.Ciphertext, values []int64) *rlwe.Ciphertext
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// exact is BGV, or BFV if it is scale-invariant.
type exact struct {
	params         bgv.Parameters
	encoder        *bgv.Encoder
	evaluator      *bgv.Evaluator
	scaleInvariant bool
}

func newExact(r request) engine {
	params := must(bgv.NewParametersFromLiteral(bgv.ParametersLiteral{
		LogN: r.logN, LogQ: r.qBits, LogP: r.pBits, PlaintextModulus: plaintextModulus,
	}))
	invariant := r.scheme == "bfv"
	return &exact{params, bgv.NewEncoder(params), bgv.NewEvaluator(params, nil, invariant), invariant}
}

func (e *exact) rlwe() rlwe.Parameters { return e.params.Parameters }
func (e *exact) slots() int            { return e.params.MaxSlots() }

func (e *exact) rotation(places int) uint64 { return e.params.GaloisElementForColRotation(places) }

func (e *exact) encode(values []int64) *rlwe.Plaintext {
	plaintext := bgv.NewPlaintext(e.params, e.params.MaxLevel())
	check(e.encoder.Encode(values, plaintext))
	return plaintext
}

func (e *exact) decode(plaintext *rlwe.Plaintext, count int) []float64 {
	slots := make([]int64, e.params.MaxSlots())
	check(e.encoder.Decode(plaintext, slots))
	out := make([]float64, count)
	for i := range out {
		// Nearest to zero: the library gives 32768 as 32768 - 65537.
		if slots[i] < -plaintextModulus/2 {
			slots[i] += plaintextModulus
		}
		out[i] = float64(slots[i])
	}
	return out
}

// use makes the evaluator anew: version 6.2.0's WithKey forgets scale invariance, and BFV products would be BGV's.
func (e *exact) use(keys rlwe.EvaluationKeySet) {
	e.evaluator = bgv.NewEvaluator(e.params, keys, e.scaleInvariant)
}

func (e *exact) add(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	return must(e.evaluator.AddNew(a, b))
}

func (e *exact) multiply(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	return must(e.evaluator.MulRelinNew(a, b))
}

func (e *exact) multiplyDown(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	product := e.multiply(a, b)
	if !e.scaleInvariant {
		check(e.evaluator.Rescale(product, product))
	}
	return product
}

func (e *exact) rotate(a *rlwe.Ciphertext, places int) *rlwe.Ciphertext {
	return must(e.evaluator.RotateColumnsNew(a, places))
}

// approximate is CKKS at the scale of the prime that a product gives up.
type approximate struct {
	params    ckks.Parameters
	encoder   *ckks.Encoder
	evaluator *ckks.Evaluator
}

func newApproximate(r request) engine {
	params := must(ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: r.logN, LogQ: r.qBits, LogP: r.pBits, LogDefaultScale: r.qBits[len(r.qBits)-1],
	}))
	return &approximate{params, ckks.NewEncoder(params), ckks.NewEvaluator(params, nil)}
}

func (e *approximate) rlwe() rlwe.Parameters { return e.params.Parameters }
func (e *approximate) slots() int            { return e.params.MaxSlots() }

func (e *approximate) rotation(places int) uint64 { return e.params.GaloisElement(places) }

func (e *approximate) encode(values []int64) *rlwe.Plaintext {
	reals := make([]float64, len(values))
	for i, value := range values {
		reals[i] = float64(value) / realUnit
	}
	plaintext := ckks.NewPlaintext(e.params, e.params.MaxLevel())
	check(e.encoder.Encode(reals, plaintext))
	return plaintext
}

func (e *approximate) decode(plaintext *rlwe.Plaintext, count int) []float64 {
	slots := make([]float64, e.params.MaxSlots())
	check(e.encoder.Decode(plaintext, slots))
	return slots[:count]
}

func (e *approximate) use(keys rlwe.EvaluationKeySet) { e.evaluator = e.evaluator.WithKey(keys) }

func (e *approximate) add(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	a, b = e.meet(a, b)
	return must(e.evaluator.AddNew(a, b))
}

func (e *approximate) multiply(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	return e.multiplyDown(a, b)
}

func (e *approximate) multiplyDown(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	a, b = e.meet(a, b)
	product := must(e.evaluator.MulRelinNew(a, b))
	check(e.evaluator.Rescale(product, product))
	return product
}

func (e *approximate) rotate(a *rlwe.Ciphertext, places int) *rlwe.Ciphertext {
	return must(e.evaluator.RotateNew(a, places))
}

// keys holds what encrypts, decrypts and evaluates.
type keys struct {
	encryptor *rlwe.Encryptor
	secret    *rlwe.Encryptor
	decryptor *rlwe.Decryptor
	bytes     int
}

func generate(e engine, encryption string, elements []uint64) keys {
	params := e.rlwe()
	generator := rlwe.NewKeyGenerator(params)
	secret := generator.GenSecretKeyNew()
	relinearisation := generator.GenRelinearizationKeyNew(secret)
	galois := generator.GenGaloisKeysNew(elements, secret)
	e.use(rlwe.NewMemEvaluationKeySet(relinearisation, galois...))
	out := keys{secret: rlwe.NewEncryptor(params, secret), decryptor: rlwe.NewDecryptor(params, secret)}
	out.encryptor = out.secret
	out.bytes = relinearisation.BinarySize()
	for _, key := range galois {
		out.bytes += key.BinarySize()
	}
	if encryption == "public" {
		public := generator.GenPublicKeyNew(secret)
		out.encryptor = rlwe.NewEncryptor(params, public)
		out.bytes += public.BinarySize()
	}
	return out
}

// laps holds what was timed, by name.
type laps map[string][]float64

func (l laps) push(name string, start time.Time) (time.Time, float64) {
	now := time.Now()
	ms := float64(now.Sub(start).Nanoseconds()) / 1e6
	l[name] = append(l[name], ms)
	return now, ms
}

func enough(done int, lastMs float64, repetitions int) bool {
	return done >= repetitions || (done >= few && lastMs > slowMs)
}

// timed repeats an operation, after one that is not counted, and gives the last result.
func timed[T any](l laps, name string, repetitions int, work func() T) T {
	last := work()
	for {
		start := time.Now()
		last = work()
		if _, ms := l.push(name, start); enough(len(l[name]), ms, repetitions) {
			return last
		}
	}
}

func (l laps) finish(out *answer) {
	out.Repetitions = math.MaxInt32
	out.TimesMs = map[string]float64{}
	for name, times := range l {
		sort.Float64s(times)
		middle := len(times) / 2
		median := times[middle]
		if len(times)%2 == 0 {
			median = (times[middle-1] + median) / 2
		}
		out.TimesMs[name] = median
		out.Repetitions = min(out.Repetitions, len(times))
	}
}

func workload(r request, x, y, z []int64) answer {
	l := laps{}
	for {
		start := time.Now()
		e := open(r)
		at, _ := l.push("parameters", start)
		k := generate(e, r.encryption, nil)
		at, _ = l.push("keys", at)
		encrypt := func(values []int64) *rlwe.Ciphertext {
			return must(k.encryptor.EncryptNew(e.encode(values)))
		}
		cx, cy, cz := encrypt(x), encrypt(y), encrypt(z)
		at, _ = l.push("encrypt", at)
		result := e.multiply(cy, e.add(cx, cz))
		at, _ = l.push("evaluate", at)
		values := e.decode(k.decryptor.DecryptNew(result), len(x))
		l.push("decrypt", at)
		if _, total := l.push("total", start); enough(len(l["total"]), total, r.repetitions) {
			out := describe(e, cx, k)
			out.Values = map[string][]float64{"result": values}
			l.finish(&out)
			return out
		}
	}
}

func primitives(r request, x, y []int64) answer {
	e := open(r)
	k := generate(e, "public", []uint64{e.rotation(1)})
	l := laps{}
	none := struct{}{}

	sub := e.rlwe().RingQ().SubRings[0]
	row := make([]uint64, sub.N)
	for i := range row {
		row[i] = uint64(i*i) % sub.Modulus
	}
	timed(l, "ntt", r.repetitions, func() any { sub.NTT(row, row); return none })
	timed(l, "inverse_ntt", r.repetitions, func() any { sub.INTT(row, row); return none })
	cx := timed(l, "encrypt_public", r.repetitions, func() *rlwe.Ciphertext {
		return must(k.encryptor.EncryptNew(e.encode(x)))
	})
	timed(l, "encrypt_secret", r.repetitions, func() *rlwe.Ciphertext {
		return must(k.secret.EncryptNew(e.encode(x)))
	})
	cy := must(k.encryptor.EncryptNew(e.encode(y)))
	decrypt := func(a *rlwe.Ciphertext, count int) []float64 {
		return e.decode(k.decryptor.DecryptNew(a), count)
	}
	decrypted := timed(l, "decrypt", r.repetitions, func() []float64 { return decrypt(cx, len(x)) })
	product := timed(l, "multiply", r.repetitions, func() *rlwe.Ciphertext { return e.multiplyDown(cx, cy) })
	rotated := timed(l, "rotate", r.repetitions, func() *rlwe.Ciphertext { return e.rotate(cx, 1) })

	out := describe(e, cx, k)
	out.Values = map[string][]float64{
		"decrypted": decrypted,
		"product":   decrypt(product, len(x)),
		"rotated":   decrypt(rotated, len(x)-1),
	}
	l.finish(&out)
	return out
}

func open(r request) engine {
	if r.scheme == "ckks" {
		return newApproximate(r)
	}
	return newExact(r)
}

func describe(e engine, ciphertext *rlwe.Ciphertext, k keys) answer {
	params := e.rlwe()
	return answer{
		Library:         "Lattigo " + version(),
		Degree:          params.N(),
		Slots:           e.slots(),
		QPrimes:         params.QCount(),
		PPrimes:         params.PCount(),
		LogQ:            log2(params.RingQ().ModuliChain()),
		LogP:            log2(params.RingP().ModuliChain()),
		Note:            "an operation uses one thread",
		CiphertextBytes: ciphertext.BinarySize(),
		KeyBytes:        k.bytes,
		PeakMb:          peakMb(),
	}
}

func log2(primes []uint64) float64 {
	sum := 0.0
	for _, prime := range primes {
		sum += math.Log2(float64(prime))
	}
	return sum
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if strings.HasPrefix(module.Path, "github.com/tuneinsight/lattigo") {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "of unknown version"
}

func peakMb() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib * 1024 / 1e6
		}
	}
	return 0
}

func list(text string) []int {
	if text == "-" {
		return nil
	}
	var out []int
	for _, field := range strings.Split(text, ",") {
		out = append(out, must(strconv.Atoi(field)))
	}
	return out
}

func read() [3][]int64 {
	in := bufio.NewReader(os.Stdin)
	var count int
	must(fmt.Fscan(in, &count))
	var out [3][]int64
	for i := range out {
		out[i] = make([]int64, count)
		for j := range out[i] {
			must(fmt.Fscan(in, &out[i][j]))
		}
	}
	return out
}

func main() {
	if len(os.Args) != 9 {
		fmt.Fprintln(os.Stderr, "usage: TABLE SCHEME N Q_BITS P_BITS ENCRYPTION THREADS REPETITIONS")
		os.Exit(2)
	}
	a := os.Args[1:]
	r := request{
		table: a[0], scheme: a[1], encryption: a[5],
		logN:        bits.TrailingZeros(uint(must(strconv.Atoi(a[2])))),
		qBits:       list(a[3]),
		pBits:       list(a[4]),
		repetitions: must(strconv.Atoi(a[7])),
	}
	var out answer
	if r.table == "programs" {
		out = programs(r)
	} else if vectors := read(); r.table == "workload" {
		out = workload(r, vectors[0], vectors[1], vectors[2])
	} else {
		out = primitives(r, vectors[0], vectors[1])
	}
	check(json.NewEncoder(os.Stdout).Encode(out))
}
