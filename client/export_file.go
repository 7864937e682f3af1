package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Formats of an export.
const (
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
)

// columnTime is the column of a CSV file that says of which state a row is.
const columnTime = "generatedAt"

// exportFile is where an export goes. Each state is written at once.
type exportFile struct {
	name    string
	file    *os.File // nil for stdout
	lock    *flock.Flock
	out     io.Writer
	csv     bool
	columns []string  // of CSV, without that of the time; nil until they are known
	header  bool      // it has one
	last    time.Time // of the last state that is in it whole; zero for none
	states  int       // that were written
	left    bool      // rows had fields that are no columns
}

// openExport opens the file at path, "" for stdout, to go on behind the last state that is in it whole. What follows that is cut off.
func openExport(path, format string, stdout io.Writer) (*exportFile, error) {
	x := &exportFile{name: "stdout", out: stdout, csv: format == formatCSV}
	if path == "" || path == "-" {
		return x, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a device may have no end, and cannot be gone on with
		return nil, cli.Invalid("%s is not a regular file", path).WithHint("leave FILE out to write to stdout")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Invalid("there is no directory %s", dir).WithHint("mkdir -p %s", dir)
	}
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	x.name, x.file, x.out = path, f, f
	if x.lock, err = lockExport(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	end, err := x.resume()
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(cli.Invalid("%s is no export as %s that can be gone on with: %w", path, format, err), x.close())
	}
	return x, nil
}

// lockExport takes the file at path, in which two exports would write over each other.
func lockExport(path string) (*flock.Flock, error) {
	if runtime.GOOS == "windows" { // where what is locked cannot be read
		path += ".lock"
	}
	lock := flock.New(path)
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	} else if !ok {
		return nil, cli.Invalid("another ctx export is writing %s", path).WithHint("let it end, or write to another file")
	}
	return lock, nil
}

func (x *exportFile) close() error {
	if x.file == nil {
		return nil
	}
	return errors.Join(x.file.Close(), x.lock.Unlock())
}

// resume reads what is in the file, and returns where it ends that is whole.
func (x *exportFile) resume() (end int64, err error) {
	if x.csv {
		return x.resumeRows()
	}
	var line api.HistoryLine
	for lines := bufio.NewReaderSize(x.file, 64<<10); ; {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // what has no end was cut off
			x.last = line.GeneratedAt
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		line = api.HistoryLine{}
		if err := json.Unmarshal(text, &line); err != nil || line.GeneratedAt.IsZero() {
			return 0, fmt.Errorf("the line at byte %d is no state", end)
		}
		end += int64(len(text))
	}
}

// resumeRows is resume for CSV. Whether all rows of the last state are there cannot be seen, so it does not count.
func (x *exportFile) resumeRows() (end int64, err error) {
	rows := csv.NewReader(bufio.NewReader(x.file))
	rows.ReuseRecord = true
	header, err := rows.Read()
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, err
	}
	cut, err := x.cutAt(rows.InputOffset())
	switch {
	case err != nil:
		return 0, err
	case header[0] != columnTime && !(cut && strings.HasPrefix(columnTime, header[0])):
		return 0, errors.New("it has no header")
	case cut:
		return 0, nil
	}
	x.columns, x.header, end = slices.Clone(header[1:]), true, rows.InputOffset()
	var newest time.Time
	for begin := end; ; begin = rows.InputOffset() {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		var at time.Time
		if err == nil {
			at, err = time.Parse(time.RFC3339Nano, row[0])
		}
		if err != nil {
			if _, after := rows.Read(); errors.Is(after, io.EOF) { // the last one, which was cut off
				return end, nil
			}
			return 0, fmt.Errorf("the row at byte %d is damaged: %w", begin, err)
		}
		if !at.Equal(newest) {
			x.last, newest, end = newest, at, begin
		}
	}
}

// cutAt reports whether what ends at an offset has no line feed at its end.
func (x *exportFile) cutAt(offset int64) (bool, error) {
	var last [1]byte
	_, err := x.file.ReadAt(last[:], offset-1)
	return last[0] != '\n', err
}

func (x *exportFile) write(line api.HistoryLine) error {
	var text []byte
	var err error
	if x.csv {
		text, err = x.rows(line)
	} else {
		text = line.GeneratedAt.UTC().AppendFormat([]byte(`{"generatedAt":"`), time.RFC3339Nano)
		text = append(append(append(text, `","value":`...), line.Value...), '}', '\n')
	}
	if err == nil {
		_, err = x.out.Write(text)
	}
	if err == nil {
		x.last = line.GeneratedAt
		x.states++
	}
	return err
}

func (x *exportFile) rows(line api.HistoryLine) ([]byte, error) {
	root, err := jsonx.Parse(line.Value)
	if err != nil {
		return nil, err
	}
	list := []*jsonx.Value{root}
	if root.IsArray() {
		list = root.Members
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	cells := make([]map[string]string, len(list))
	for i, row := range list {
		cells[i] = map[string]string{}
		flattenRow("", row, func(name, text string) {
			if cells[i][name] = text; !x.header && !slices.Contains(x.columns, name) {
				x.columns = append(x.columns, name)
			}
			x.left = x.left || text != "" && !slices.Contains(x.columns, name)
		})
	}
	if !x.header && len(list) > 0 {
		x.header = true
		_ = w.Write(append([]string{columnTime}, x.columns...)) // to memory
	}
	at := line.GeneratedAt.UTC().Format(time.RFC3339Nano)
	for _, row := range cells {
		record := []string{at}
		for _, name := range x.columns {
			record = append(record, row[name])
		}
		_ = w.Write(record)
	}
	w.Flush()
	return b.Bytes(), nil
}

// flattenRow visits the cells of a row: members of members by their path, lists as JSON, and what is no object under value. A text that a
// spreadsheet takes for a formula is quoted: anybody may choose a name for a coin.
func flattenRow(name string, v *jsonx.Value, visit func(name, text string)) {
	if v.IsObject() {
		for _, m := range v.Members {
			path := m.Name
			if name != "" {
				path = name + "." + path
			}
			flattenRow(path, m, visit)
		}
		return
	}
	if name == "" {
		name = "value"
	}
	switch text := v.Text(); {
	case string(v.Raw) == "null":
		visit(name, "")
	case v.IsString() && text != "" && strings.Contains("=+-@\t\r", text[:1]):
		visit(name, "'"+text)
	default:
		visit(name, text)
	}
}

// columns are those that the rows of the member may have, nil where that is not known.
func (o exportOptions) columns(ctx context.Context) []string {
	shape, whole := stateOf(o.pack)
	if columns := columnsAt(reflect.TypeOf(shape), o.member); columns != nil || whole {
		return columns
	}
	info := o.packs.Find(ctx, o.pack)
	if info == nil {
		return nil
	}
	i := slices.IndexFunc(info.Members, func(m api.PackMember) bool { return m.Name == o.member })
	if i < 0 {
		return nil
	}
	return slices.Concat([]string{"id", "name", "symbol"}, info.Members[i].Fields, []string{"url", "ref", "of", "stale"})
}

// columnsAt are the columns of the member of a state of type t, nil where it has none of that name.
func columnsAt(t reflect.Type, member string) []string {
	for _, name := range strings.Split(member, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		i := slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return jsonName(f) == name })
		if i < 0 {
			return nil
		}
		t = t.Field(i).Type
	}
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return columnsOf("", t)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func columnsOf(name string, t reflect.Type) (columns []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		if name == "" {
			name = "value"
		}
		return []string{name}
	}
	for _, f := range reflect.VisibleFields(t) {
		path := jsonName(f)
		if name != "" {
			path = name + "." + path
		}
		columns = append(columns, columnsOf(path, f.Type)...)
	}
	return columns
}
