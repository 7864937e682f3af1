package manifest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/internal/long"
)

// TestMain makes the test binary be the process of a Child when it is called as the program is.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], asChild()) {
		if err := manifest.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func asChild() []string { return []string{"pack", "eval"} }

// newChild is a Child whose process is the test binary.
func newChild(t *testing.T, text string) *manifest.Child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := manifest.NewChild([]byte(text), append([]string{self}, asChild()...)...)
	t.Cleanup(c.Close)
	return c
}

// mapping is a manifest of one source with a mapping and a selection.
func mapping(rows, choose string) string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	return `{pack: mine, version: 1, title: Mine, members: {all: {from: one, select: ` + quoted(choose) + `}}, sources: [{id: one, name: One, ` +
		`public_url: "https://example.org/", licence: public, request: {url: "https://example.org/one"}, kind: thing, fields: {x: number}, ` +
		`rows: ` + quoted(rows) + `}]}`
}

// tooLong is in the failure of a call whose time was up.
const tooLong = "longer than 1s"

// pair is an Evaluator that asks both and tells of every difference.
type pair struct {
	t            *testing.T
	local, child manifest.Evaluator
	asked        *atomic.Int32
}

func (p pair) compare(what string, want, got any, wantErr, gotErr error) {
	p.t.Helper()
	p.asked.Add(1)
	for _, err := range []error{wantErr, gotErr} {
		if err != nil && strings.Contains(err.Error(), tooLong) { // as a busy machine has it
			return
		}
	}
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		p.t.Errorf("%s: %v in this process, %v in the child", what, wantErr, gotErr)
	}
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if !bytes.Equal(a, b) || errA != nil || errB != nil || !reflect.DeepEqual(want, got) {
		p.t.Errorf("%s: in this process\n%.600s\nin the child\n%.600s\n%v, %v", what, a, b, errA, errB)
	}
}

func (p pair) Rows(ctx context.Context, id string, answer []byte, at time.Time) ([]any, error) {
	rows, err := p.local.Rows(ctx, id, answer, at)
	got, gotErr := p.child.Rows(ctx, id, answer, at)
	p.compare("rows of "+id, rows, got, err, gotErr)
	return rows, err
}

func (p pair) Judge(ctx context.Context, id string, rows []any, at time.Time) (manifest.Judgement, error) {
	j, err := p.local.Judge(ctx, id, rows, at)
	got, gotErr := p.child.Judge(ctx, id, rows, at)
	p.compare("judgement of "+id, j, got, err, gotErr)
	return j, err
}

// TestChildIsAsLocal: a child makes the same of every recorded answer to a shipped manifest, to the type of the last number.
func TestChildIsAsLocal(t *testing.T) {
	t.Parallel()
	for _, id := range manifest.Shipped() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			text, _ := manifest.ShippedText(id)
			m, err := manifest.Read(text, true)
			if err != nil {
				t.Fatal(err)
			}
			local, err := manifest.NewLocal(m)
			if err != nil {
				t.Fatal(err)
			}
			both := pair{t, local, newChild(t, string(text)), new(atomic.Int32)}
			p, _, err := m.Make(both)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
			r := replay.New(func() time.Time { return now })
			f := source.NewFetcher(source.Config{Transport: r, Now: func() time.Time { return now }, Shift: r.Shift})
			last := make(map[string]source.Doc)
			for range 3 {
				for _, s := range p.Sources {
					out := f.Fetch(t.Context(), s.Connector, last[s.ID])
					if out.Err != nil {
						t.Errorf("%s: %v", s.ID, out.Err)
					}
					last[s.ID] = out.Doc
				}
				r.Advance()
			}
			if n := int(both.asked.Load()); n < 5*len(p.Sources) {
				t.Errorf("only %d answers were compared", n)
			}
		})
	}
}

// TestChildTellsEveryValue compares what jq can give, and the failures of a decoder.
func TestChildTellsEveryValue(t *testing.T) {
	t.Parallel()
	const odd = `{"a":[1,1.0,1e3,12345678901234567890123,0.1,-0,1e400,"é\u0000<&>\u2028","` + "\xff" + `",null,true]}`
	for _, rows := range []string{
		`.a[] | {key: ., name: ., x: .}`, `.a[] | {key: "k", x: (tonumber? // .) }`, `range(3) | {key: "\(.)", x: (. / 3)}`,
		`{key: 100000000.0, x: 1e21, y: 5}, {key: infinite, x: nan}, {key: (1e17+1), x: (12345678901234567890123 + 1)}`,
		`[1], 5, null, "text", {}, {key: {a: 1}, x: [2]}`,
		`{key: "a", aliases: ["b", 5, null, "c"], url: "https://x", x: 1, other: "dropped"}`,
		`empty`, `error("no")`, `{key: ("/w==" | @base64d), x: 1}`, `{key: "a", x: now}`, `.a | error`, `.[`,
		`range(20001) | {key: "\(.)", x: 1}`, `range(300) | {key: ("x" * 20000), x: 1}`,
	} {
		m, err := manifest.Read([]byte(mapping(rows, `.[:2], {key: "invented"}`)), false)
		if rows == `.[` {
			if err == nil {
				t.Error("a mapping was compiled that cannot be")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		local, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatal(err)
		}
		both := pair{t, local, newChild(t, mapping(rows, `.[:2], {key: "invented"}`)), new(atomic.Int32)}
		at := time.Date(2026, 11, 22, 20, 0, 0, 123456789, time.FixedZone("", 3600))
		for _, answer := range []string{odd, "", "<html>", "[]", `{"error":"rate limit"}`, `{"status":{"error_code":1001}}`, "[1", "null",
			"quota"} {
			_, _ = both.Rows(t.Context(), "one", []byte(answer), at)
		}
		cleaned := []any{map[string]any{"key": "a", "x": 0.1 + 0.2, "b": true, "t": "é"}, map[string]any{"key": "b", "x": nil},
			map[string]any{"key": "c", "x": 1e300}}
		_, _ = both.Judge(t.Context(), "one", cleaned, at)
		_, _ = both.Judge(t.Context(), "one", nil, at)
	}
}

// hostile are manifests that take what they can get.
func hostile() map[string]struct{ rows, choose, answer, want string } {
	long := "[" + strings.Repeat(`{"key":"a","x":1},`, 16<<20/18-1) + `{"key":"b","x":2}]`
	return map[string]struct{ rows, choose, answer, want string }{
		"endless":        {`def f: f; f`, ``, "[1]", "longer than 1s"},
		"endless choice": {`{key: "a", x: 1}`, `def f: f; f`, "[1]", "longer than 1s"},
		"long text":      {`("x" * 900000000) | {key: ., x: 1}`, ``, "[1]", "more than 256 MB|" + tooLong},
		"long choice":    {`{key: "a", x: 1}`, `("x" * 900000000) | {key: .}`, "[1]", "more than 256 MB|" + tooLong},
		"far index":      {`[] | .[100000000] = 1 | {key: "a", x: 1}`, ``, "[1]", "more than 256 MB|" + tooLong},
		"many rows":      {`range(1000000) | {key: "\(.)", x: 1}`, ``, "[1]", "over 20000 rows|" + tooLong},
		"much text":      {`range(10000) | {key: ("x" * 100000), x: 1}`, ``, "[1]", "over 4 MB of rows|" + tooLong},
		"recursion":      {`def f: [f]; f`, ``, "[1]", "more than 256 MB|" + tooLong},
		"depth":          {`reduce range(100000000) as $i (1; [.]) | {key: tojson, x: 1}`, ``, "[1]", "more than 256 MB|" + tooLong},
		"no pause":       {`("x" * 30000000) | {key: "a", x: [match("(x?){20}y"; "g")]}`, ``, "[1]", "its mapping took " + tooLong},
		"growth":         {`[limit(100000000; repeat("x" * 1000))] | {key: "a", x: 1}`, ``, "[1]", "more than 256 MB|" + tooLong},
		"large answer": {`[.[] | {a: ., b: [.], c: {d: .}}] | . + . + . + . | map({key: .a.key, x: 1})[]`, ``, long,
			"more than 256 MB|over 20000 rows|" + tooLong},
	}
}

// TestChildIsBounded: whatever a manifest asks for, its call is refused in time, this process does not grow, and others are served.
func TestChildIsBounded(t *testing.T) {
	long.Test(t)
	good := newChild(t, mapping(`.[] | {key: ., x: 1}`, `.`))
	for name, h := range hostile() {
		t.Run(name, func(t *testing.T) {
			c, answer := newChild(t, mapping(h.rows, h.choose)), []byte(h.answer)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			rows, err := c.Rows(t.Context(), "one", answer, began)
			if err == nil {
				_, err = c.Judge(t.Context(), "one", rows, began)
			}
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			grown := after.TotalAlloc - before.TotalAlloc
			if err == nil || !slices.ContainsFunc(strings.Split(h.want, "|"), func(w string) bool {
				return strings.Contains(err.Error(),
					w)
			}) {
				t.Errorf("the call ended with %v, want %s", err, h.want)
			}
			if class, _ := source.Judged(err); err != nil && class != source.ClassBadContent {
				t.Errorf("the class is %s", class)
			}
			t.Logf("%v after %v; %d kB more here", err, took.Round(time.Millisecond), grown>>10)
			if took > 30*time.Second || grown > 4<<20 {
				t.Errorf("it took %v and %d bytes here", took, grown)
			}
			if rows, err := good.Rows(t.Context(), "one", []byte(`["a"]`), began); len(rows) != 1 || err != nil {
				t.Errorf("after that another manifest has %v, %v", rows, err)
			}
		})
	}
}

// TestChildIsStartedAgain: a process that is killed in the middle of a call fails that call, one that is killed between two fails none.
func TestChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := newChild(t, mapping(`if . == ["endless"] then (def f: f; f) else .[] | {key: ., x: 1} end`, `.`))
	ask := func(answer string) error {
		_, err := c.Rows(t.Context(), "one", []byte(answer), time.Time{})
		return err
	}
	var first *os.Process
	var err error
	for range 20 { // on a busy machine it may be killed before the call begins, which another process answers then
		if err := ask(`["a"]`); err != nil {
			t.Fatal(err)
		}
		first = c.Command().Process
		time.AfterFunc(200*time.Millisecond, func() { _ = first.Kill() })
		if err = ask(`["endless"]`); !strings.Contains(fmt.Sprint(err), tooLong) {
			break
		}
	}
	if class, text := source.Judged(err); class != source.ClassBadContent || text != "its mapping broke off (signal: killed)" {
		t.Errorf("killed in the middle of a call: %v", err)
	}
	for range 3 {
		if err := ask(`["a"]`); err != nil {
			t.Errorf("the call after that: %v", err)
		}
		second := c.Command().Process
		if second.Pid == first.Pid {
			t.Error("the process has not been started again")
		}
		_ = second.Kill()
		c.AwaitEnd()
		first = second
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Rows(ctx, "one", []byte(`["endless"]`), time.Time{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a fetch that is given up ends with %v", err)
	}
	if err := ask(`["a"]`); err != nil {
		t.Errorf("the call after a fetch that was given up: %v", err)
	}
	c.Close()
	if err := ask(`["a"]`); err != nil {
		t.Errorf("the call after a close: %v", err)
	}
}

// TestChildServesAtOnce: calls that come together are answered one after the other, each with its own.
func TestChildServesAtOnce(t *testing.T) {
	t.Parallel()
	c := newChild(t, mapping(`.[] | {key: ., x: 1}`, `.`))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			rows, err := c.Rows(t.Context(), "one", fmt.Appendf(nil, `["key-%d"]`, i), time.Time{})
			if want := fmt.Sprintf("[map[key:key-%d x:1]]", i); fmt.Sprint(rows) != want || err != nil {
				t.Errorf("%v, %v, want %s", rows, err, want)
			}
		})
	}
	all.Wait()
}

// TestChildCannotStart: what is missing is one fetch that failed.
func TestChildCannotStart(t *testing.T) {
	t.Parallel()
	for argv, want := range map[string]string{
		"/nonexistent/contextd": "bad_content: the process for its mapping cannot be started",
		"/bin/true":             "bad_content: its mapping broke off (exit status 0)",
	} {
		c := manifest.NewChild([]byte(mapping(`.`, `.`)), argv)
		if _, err := c.Rows(t.Context(), "one", []byte("[1]"), time.Time{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", argv, err, want)
		}
		c.Close()
	}
	c := newChild(t, "pack: [")
	if _, err := c.Rows(t.Context(), "one", []byte("[1]"), time.Time{}); err == nil ||
		err.Error() != "bad_content: its manifest cannot be read" {
		t.Errorf("a manifest that is none: %v", err)
	}
}

// TestChildEndsWithItsParent: when the pipe is closed the process ends, in the middle of a call too.
func TestChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := exec.Command(self, asChild()...)
	c.Stdout = &out
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	text := mapping(`def f: f; f`, `.`)
	for _, frame := range []string{text, `{"Source":"one","Answer":3}`} {
		_, _ = in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(frame))))
		_, _ = in.Write([]byte(frame))
	}
	_, _ = in.Write([]byte("[1]"))
	time.Sleep(100 * time.Millisecond)
	_ = in.Close()
	// On a busy machine the call may be over before.
	if err := c.Wait(); err != nil || !strings.HasPrefix(out.String(), "\x00\x00\x00\x03{}\n") {
		t.Errorf("the process ended with %v and said %q", err, &out)
	}
}
