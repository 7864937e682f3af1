package policy_test

func stateFixtures() []fixture {
	return []fixture{
		{"init", "function", sources("package feed\n\nfunc init() {}\n"), []string{"feed.go:3: init()"}},
		{"init", "method", sources("package feed\nfunc (m Model) init() {}\nfunc initial() {}\n"), nil},

		{"package state", "what Go has no constants for", map[string]string{
			"sdk/a.go": `package sdk
import ("embed"; "errors"; "fmt"; re "regexp"; "strings"; "sync")
const Limit = 1
var _ I = T{}
var _ = f()
var errGone = errors.New("gone")
var (
	errBad error = bad{}
	ErrQuota = &Error{Code: "Q"}
	number, word = re.MustCompile("[0-9]"), re.MustCompilePOSIX("a")
	escape = strings.NewReplacer("a", "b")
	errOdd = fmt.Errorf("odd")
	late = sync.OnceValue(func() *re.Regexp { return re.MustCompile("a") })
)
//go:embed page.html
var page string
var (
	//go:embed all:files
	files embed.FS
)
func f() int { var x = 1; return x }
`,
			"internal/build/build.go": "package build\nvar version string\n",
		}, nil},
		{"package state", "variables", sources(`package feed; import "sync"
var count int
var cache = map[string]int{}
var (
	mu sync.Mutex
	table = []string{"a"}
	a, b = 1, errors.New("b")
	now = time.Now
	first = sync.OnceValue(func() map[string]int { return map[string]int{} })
	second = sync.OnceValue(func() time.Time { return time.Now() })
)
var version string
var x, y = f()
`), []string{
			"feed.go:2: package-level variable count", "feed.go:3: package-level variable cache", "feed.go:5: package-level variable mu",
			"feed.go:6: package-level variable table", "feed.go:7: package-level variable a", "feed.go:7: package-level variable b",
			"feed.go:8: package-level variable now", "feed.go:9: package-level variable first",
			"feed.go:10: package-level variable second", "feed.go:12: package-level variable version", "variable x", "variable y",
		}},
		{"package state", "the linker sets text only", map[string]string{"internal/build/build.go": "package build\nvar count int\n"},
			[]string{"variable count"}},

		{"ambient", "calls", sources(`package feed
import ("context"; clock "time"; "log/slog"; "net/http")
func New() {
	x := clock.Now().UTC()
	clock.Since(x)
	clock.Until(x)
	run(context.Background(), context.TODO())
	slog.Info("x")
	http.Get("x")
	now := func() clock.Time { return clock.Now() }
}
`), []string{
			"feed.go:4: call of time.Now", "feed.go:5: call of time.Since", "feed.go:6: call of time.Until", "feed.go:7: call of context.Background",
			"feed.go:7: call of context.TODO", "feed.go:8: call of log/slog.Info", "feed.go:9: call of net/http.Get", "feed.go:10: call of time.Now",
		}},
		{"ambient", "injected", sources(`package feed
import ("context"; "log/slog"; "time")
func New(cfg Config) {
	if cfg.Now == nil { cfg.Now = time.Now }
	if cfg.Log == nil { cfg.Log = slog.Default() }
	cfg.Now()
	cfg.Log.Info("x")
	time.NewTimer(time.Second)
	context.WithoutCancel(ctx)
	other.Now()
}
`), nil},
		{"ambient", "programs and tests", map[string]string{
			"cmd/ctx/main.go":       "package main\nimport (\"context\"; \"time\")\nfunc main() { run(context.Background(), time.Now()) }\n",
			"daemon/feed/a_test.go": "package feed_test\nimport \"time\"\nfunc TestA() { time.Now() }\n",
		}, nil},
	}
}
