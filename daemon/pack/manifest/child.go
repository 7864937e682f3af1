package manifest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/contextd/contextd/daemon/source"
)

// MaxMemory is how much a process may have that evaluates a manifest of somebody else.
const MaxMemory = 256 << 20

const (
	softMemory  = "192MiB"               // from here on the collector works harder
	startWithin = 10 * time.Second       // a process is started and has read its manifest
	grace       = 500 * time.Millisecond // a process stops by itself within EvaluateWithin; after this it is killed
	lookEvery   = 10 * time.Millisecond  // at the memory of a process that works
	maxFrame    = 16 << 20               // bytes of JSON on the pipe
)

// Child is an Evaluator that runs a manifest in a process of its own, which is started by the first call and again after it has died.
// The process has neither more than MaxMemory nor longer than EvaluateWithin; it takes down nothing but itself.
//
// It bounds its own data segment before it reads anything. Where that is refused, as by a filter of system calls, or not to be had, as on
// other systems than Linux, two bounds are left: on Linux its memory is looked at from here while it works; elsewhere its collector is
// told, and it is killed when its time is up.
type Child struct {
	text    []byte
	argv    []string
	slot    chan struct{} // is full while nobody works with process
	process *process
}

// NewChild makes an Evaluator of the text of a manifest that was read. argv is a program that calls Serve, with its arguments.
func NewChild(text []byte, argv ...string) *Child {
	c := &Child{text: text, argv: argv, slot: make(chan struct{}, 1)}
	c.slot <- struct{}{}
	return c
}

// request is a call on the pipe. It is followed by Answer bytes.
type request struct {
	Source string
	At     time.Time
	Answer int   // bytes of the answer whose rows are wanted; -1 means that Rows are to be judged
	Rows   []any `json:",omitempty"`
}

type reply struct {
	Rows      []any        `json:",omitempty"`
	Judgement *Judgement   `json:",omitempty"`
	Class     source.Class `json:",omitempty"` // of a failure; "" means that there is none
	Text      string       `json:",omitempty"`
}

// Rows implements Evaluator.
func (c *Child) Rows(ctx context.Context, source string, answer []byte, at time.Time) ([]any, error) {
	said, err := c.call(ctx, request{Source: source, At: at, Answer: len(answer)}, answer)
	return said.Rows, err
}

// Judge implements Evaluator.
func (c *Child) Judge(ctx context.Context, source string, rows []any, at time.Time) (Judgement, error) {
	said, err := c.call(ctx, request{Source: source, At: at, Answer: -1, Rows: rows}, nil)
	if said.Judgement == nil {
		return Judgement{}, err
	}
	return *said.Judgement, err
}

// Close ends the process. A later call starts another one.
func (c *Child) Close() {
	<-c.slot
	c.end()
	c.slot <- struct{}{}
}

// end ends the process, if there is one.
func (c *Child) end() {
	if c.process != nil {
		c.process.kill()
		c.process = nil
	}
}

func (c *Child) call(ctx context.Context, r request, answer []byte) (said reply, err error) {
	select {
	case <-c.slot:
	case <-ctx.Done():
		return said, ctx.Err()
	}
	defer func() { c.slot <- struct{}{} }()
	if err = c.running(ctx); err == nil {
		said, err = c.process.ask(ctx, EvaluateWithin+grace, func(w io.Writer) error {
			if err := writeJSON(w, r); err != nil {
				return err
			}
			_, err := w.Write(answer)
			return err
		})
		if err != nil {
			c.end()
		}
	}
	if err == nil {
		err = said.failure()
	}
	return said, err
}

// failure is the failure that a reply tells of, nil if there is none.
func (r reply) failure() error {
	if r.Class == "" {
		return nil
	}
	return source.Refuse(r.Class, "%s", r.Text)
}

// running starts the process unless there is one, and gives it the manifest.
func (c *Child) running(ctx context.Context) (err error) {
	if c.process != nil && !c.process.ended() {
		return nil
	}
	c.end()
	if c.process, err = start(c.argv); err != nil {
		return source.Refuse(source.ClassBadContent, "the process for its mapping cannot be started")
	}
	said, err := c.process.ask(ctx, startWithin, func(w io.Writer) error { return writeFrame(w, c.text) })
	if err == nil {
		err = said.failure()
	}
	if err != nil {
		c.end()
	}
	return err
}

type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	head head
	done chan struct{} // is closed when it has ended
}

// start starts a program, which inherits nothing but its two pipes.
func start(argv []string) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Args[0] = "contextd" // whatever it was found as
	p.cmd.Env = []string{"GOMEMLIMIT=" + softMemory, "GOTRACEBACK=none", "GOMAXPROCS=2"}
	p.cmd.Dir = "/"
	p.cmd.Stderr = &p.head
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make pipe: %w", err), in.Close())
	}
	p.in, p.out, p.cmd.Stdout = in, out, theirs
	err = p.cmd.Start()
	_ = theirs.Close() // it is the child's now
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start process: %w", err), in.Close(), out.Close())
	}
	go func() {
		_ = p.cmd.Wait() // how it ended stands in its state
		close(p.done)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // or it has ended already
	<-p.done
	_ = p.out.Close()
}

// ask writes something to the process and reads its reply. After an error it can be used no more.
func (p *process) ask(ctx context.Context, within time.Duration, write func(io.Writer) error) (said reply, err error) {
	over, why := make(chan struct{}), make(chan error, 1)
	go func() { why <- p.watch(ctx, within, over) }()
	buffered := bufio.NewWriterSize(p.in, 64<<10)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = readJSON(p.out, &said, true)
	}
	close(over)
	if killed := <-why; killed != nil {
		return reply{}, killed
	}
	if err != nil {
		p.kill()
		return reply{}, p.obituary()
	}
	return said, nil
}

// watch kills the process when it takes too much, until over is closed, and says why.
func (p *process) watch(ctx context.Context, within time.Duration, over <-chan struct{}) (why error) {
	deadline, look := time.NewTimer(within), time.NewTicker(lookEvery)
	defer deadline.Stop()
	defer look.Stop()
	for why == nil {
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			why = ctx.Err()
		case <-deadline.C:
			why = source.Refuse(source.ClassBadContent, "its mapping took longer than %s", EvaluateWithin)
		case <-look.C:
			if resident(p.cmd.Process.Pid) > MaxMemory {
				why = errMemory()
			}
		}
	}
	p.kill()
	return why
}

func errMemory() error {
	return source.Refuse(source.ClassBadContent, "its mapping took more than %d MB", MaxMemory>>20)
}

// outOfMemory is what the runtime, or the race detector's, says when it is refused memory. Its collector does not look whether it was.
var outOfMemory = regexp.MustCompile(
	`out of memory|cannot allocate|cannot map pages|pthread_create failed|newosproc|stack overflow|segmentation violation|ThreadSanitizer`)

// obituary says why a process has ended that nobody here killed.
func (p *process) obituary() error {
	if outOfMemory.Match(p.head.text) {
		return errMemory()
	}
	return source.Refuse(source.ClassBadContent, "its mapping broke off (%s)", p.cmd.ProcessState)
}

// head keeps the beginning of what is written to it.
type head struct{ text []byte }

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	const most = 4 << 10
	h.text = append(h.text, p[:min(len(p), most-len(h.text))]...)
	return len(p), nil
}

// Serve is the process of a Child: it reads a manifest and then calls from in, and answers each on out, until in ends or ctx is done.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	_ = limitData(MaxMemory) // where it is refused, the parent looks at our memory
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calls, ended := make(chan call), make(chan error, 1)
	go func() { ended <- listen(ctx, in, calls) }()
	answered := make(chan error, 1)
	go func() { answered <- answer(ctx, calls, out) }()
	select { // what runs ends with the process, which may be in the middle of a jq program
	case err := <-ended:
		return err
	case err := <-answered:
		return err
	case <-ctx.Done():
		return nil
	}
}

// call is a manifest, or a request with the answer that follows it.
type call struct {
	request
	body []byte
}

// listen reads calls until in ends: at once when the parent has, whatever runs.
func listen(ctx context.Context, in io.Reader, calls chan<- call) error {
	br := bufio.NewReaderSize(in, 64<<10)
	text, err := readFrame(br, maxText)
	for next := (call{body: text}); err == nil; next, err = readCall(br) {
		select {
		case calls <- next:
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readCall reads a request and the answer that follows it.
func readCall(r io.Reader) (next call, err error) {
	err = readJSON(r, &next.request, false)
	switch {
	case err != nil:
		return next, err
	case next.Answer > maxBody:
		return next, fmt.Errorf("an answer of %d bytes, at most %d", next.Answer, maxBody)
	}
	next.body = make([]byte, max(next.Answer, 0))
	_, err = io.ReadFull(r, next.body)
	return next, err
}

// answer answers calls, the first of which is the manifest.
func answer(ctx context.Context, calls <-chan call, out io.Writer) error {
	var e Evaluator
	for c := range calls {
		var said reply
		var err error
		switch {
		case e == nil:
			e, err = evaluatorOf(c.body)
		case c.Answer >= 0:
			said.Rows, err = e.Rows(ctx, c.Source, c.body, c.At)
		default:
			said.Judgement = new(Judgement)
			*said.Judgement, err = e.Judge(ctx, c.Source, c.request.Rows, c.At)
		}
		if err != nil {
			said = reply{}
			said.Class, said.Text = source.Judged(err)
		}
		if err := writeJSON(out, said); err != nil {
			return err
		}
	}
	return nil
}

// evaluatorOf reads a manifest that the parent has read, too.
func evaluatorOf(text []byte) (Evaluator, error) {
	m, err := Read(text, true)
	if err != nil {
		return nil, source.Refuse(source.ClassBadContent, "its manifest cannot be read")
	}
	m.shipped = false // whose names it may use was for the parent to say; it has no more time than others
	return NewLocal(m)
}

// writeFrame writes bytes after their number.
func writeFrame(w io.Writer, text []byte) error {
	if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text)))); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}

func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return writeFrame(w, b.Bytes())
}

// readFrame reads what writeFrame has written, most bytes of it.
func readFrame(r io.Reader, most uint32) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > most {
		return nil, fmt.Errorf("a message of %d bytes, at most %d", n, most)
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}

// readJSON reads what writeJSON has written. Numbers stay as they are written if exact is set, else they are float64.
func readJSON(r io.Reader, v any, exact bool) error {
	text, err := readFrame(r, maxFrame)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if exact {
		dec.UseNumber()
	}
	return dec.Decode(v)
}
