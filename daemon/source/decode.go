package source

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Format is what the body of an answer is.
type Format string

// The formats that Decode knows.
const (
	FormatJSON   Format = "json"
	FormatNDJSON Format = "ndjson"
	FormatCSV    Format = "csv"
	FormatRSS    Format = "rss"
	FormatAtom   Format = "atom"
	FormatXML    Format = "xml"
	FormatText   Format = "text"
)

// Formats are all of them.
func Formats() []Format {
	return []Format{FormatJSON, FormatNDJSON, FormatCSV, FormatRSS, FormatAtom, FormatXML, FormatText}
}

// CSV says how a body of FormatCSV is written.
type CSV struct {
	Comma  string   `yaml:"comma" json:"comma,omitempty"`   // "" is ","
	Skip   int      `yaml:"skip" json:"skip,omitempty"`     // lines before the header
	Header []string `yaml:"header" json:"header,omitempty"` // nil where the first line is one
}

// Decode reads a body as values of JSON: nil, bool, json.Number, string, []any and map[string]any. What is not of the format, or says
// that upstream failed, is a failure of Class.
func Decode(format Format, layout CSV, body []byte) (any, error) {
	switch format {
	case FormatNDJSON:
		return decodeLines(body)
	case FormatCSV:
		return decodeCSV(layout, body)
	case FormatRSS, FormatAtom:
		return decodeEntries(body)
	case FormatXML:
		return decodeXML(body)
	case FormatText:
		return decodeText(body)
	}
	return decodeJSON(body)
}

func decodeJSON(body []byte) (any, error) {
	br, err := openBody(bytes.NewReader(body), "[{", "JSON")
	if err != nil {
		return nil, err
	}
	if err := envelope(bytes.TrimPrefix(body, []byte("\uFEFF"))); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(br)
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, malformed(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(ClassBadContent, "data after the end of the JSON")
	}
	switch list := v.(type) {
	case []any:
		if len(list) == 0 {
			return nil, fail(ClassEmpty, "the answer has no rows")
		}
	case map[string]any:
		if len(list) == 0 {
			return nil, fail(ClassEmpty, "the answer is an empty object")
		}
	}
	return v, nil
}

func decodeLines(body []byte) (any, error) {
	br, err := openBody(bytes.NewReader(body), "[{\"0123456789-tfn", "JSON")
	if err != nil {
		return nil, err
	}
	begins, err := br.ReadByte()
	if err == nil {
		err = br.UnreadByte()
	}
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(br)
	dec.UseNumber()
	var rows []any
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil && rows == nil && begins != '[' && begins != '{' {
			return nil, judgeText(bytes.NewReader(body), "JSON") // words may begin as a value does
		}
		if err != nil {
			return nil, malformed(err)
		}
		rows = append(rows, v)
	}
}

// decodeCSV reads a table as objects by the names of its columns. Lines that have not as many cells as the header are left out.
func decodeCSV(layout CSV, body []byte) (any, error) {
	text := strings.TrimPrefix(strings.ToValidUTF8(string(body), "\uFFFD"), "\uFEFF")
	for range layout.Skip {
		_, text, _ = strings.Cut(text, "\n")
	}
	switch head := strings.TrimSpace(text); {
	case head == "":
		return nil, fail(ClassEmpty, "the answer has no content")
	case head[0] == '<' || head[0] == '{':
		return nil, judgeText(strings.NewReader(head), "CSV")
	}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	if layout.Comma != "" {
		r.Comma, _ = utf8.DecodeRuneInString(layout.Comma)
	}
	header, rows, err := readTable(r, layout.Header)
	switch {
	case err != nil:
		return nil, fail(ClassBadContent, "malformed CSV")
	case len(rows) == 0 && len(header) < 2:
		return nil, judgeText(strings.NewReader(text), "CSV")
	case len(rows) == 0:
		return nil, fail(ClassEmpty, "the answer has no rows")
	}
	return rows, nil
}

// readTable reads the lines of a table, the first of which is the header unless one is given.
func readTable(r *csv.Reader, given []string) (header []string, rows []any, err error) {
	header = given
	for {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return header, rows, nil
		case err != nil:
			return header, rows, err
		case header == nil:
			header = slices.Clone(record)
		case len(record) == len(header):
			row := make(map[string]any, len(header))
			for i, name := range header {
				row[strings.TrimSpace(name)] = strings.TrimSpace(record[i])
			}
			rows = append(rows, row)
		}
	}
}

func decodeEntries(body []byte) (any, error) {
	items, err := parseItems(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	rows := make([]any, len(items))
	for i, item := range items {
		row := map[string]any{"title": plainText(item.Title), "url": CleanLink(item.Link), "id": item.GUID}
		if at := item.PublishedParsed; at != nil {
			row["at"] = at.UTC().Format(time.RFC3339)
		} else if at := item.UpdatedParsed; at != nil {
			row["at"] = at.UTC().Format(time.RFC3339)
		}
		if text := plainText(item.Description); text != "" {
			row["text"] = text
		}
		if len(item.Authors) > 0 && item.Authors[0] != nil {
			row["author"] = item.Authors[0].Name
		}
		categories := make([]any, len(item.Categories))
		for j, c := range item.Categories {
			categories[j] = c
		}
		row["categories"] = categories
		rows[i] = row
	}
	return rows, nil
}

// maxDepth is how deep elements of XML may lie in each other.
const maxDepth = 32

// decodeXML reads a document as objects by the local names of its elements: attributes as "@name", the text of an element with attributes
// or children as "#text", and elements that come again as an array. Entities are those of XML itself.
func decodeXML(body []byte) (any, error) {
	br, err := openBody(bytes.NewReader(body), "<", "XML")
	if err != nil {
		return nil, err
	}
	dec := xml.NewDecoder(br)
	dec.CharsetReader = charset.NewReaderLabel
	for {
		token, err := dec.Token()
		switch start, is := token.(xml.StartElement); {
		case errors.Is(err, io.EOF):
			return nil, fail(ClassEmpty, "the answer has no element")
		case err != nil:
			return nil, fail(ClassBadContent, "malformed XML")
		case is && strings.EqualFold(start.Name.Local, "html"):
			return nil, fail(ClassBadContent, "HTML where XML was expected")
		case is:
			v, err := decodeElement(dec, start, 0)
			if err != nil {
				return nil, err
			}
			return map[string]any{start.Name.Local: v}, nil
		}
	}
}

func decodeElement(dec *xml.Decoder, start xml.StartElement, depth int) (any, error) {
	if depth >= maxDepth {
		return nil, fail(ClassBadContent, "XML deeper than %d elements", maxDepth)
	}
	object, text := map[string]any{}, strings.Builder{}
	for _, a := range start.Attr {
		if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
			object["@"+a.Name.Local] = a.Value
		}
	}
	for {
		token, err := dec.Token()
		if err != nil {
			return nil, fail(ClassBadContent, "malformed XML")
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.StartElement:
			v, err := decodeElement(dec, t, depth+1)
			if err != nil {
				return nil, err
			}
			switch old := object[t.Name.Local].(type) {
			case nil:
				object[t.Name.Local] = v
			case []any:
				object[t.Name.Local] = append(old, v)
			default:
				object[t.Name.Local] = []any{old, v}
			}
		case xml.EndElement:
			said := strings.TrimSpace(text.String())
			if len(object) == 0 {
				return said, nil
			}
			if said != "" {
				object["#text"] = said
			}
			return object, nil
		}
	}
}

func decodeText(body []byte) (any, error) {
	text := strings.TrimPrefix(strings.ToValidUTF8(string(body), "\uFFFD"), "\uFEFF")
	switch head := strings.TrimSpace(text); {
	case head == "":
		return nil, fail(ClassEmpty, "the answer has no content")
	case strings.HasPrefix(strings.ToLower(head), "<!doctype html") || strings.HasPrefix(strings.ToLower(head), "<html"):
		return nil, fail(ClassBadContent, "HTML where text was expected")
	}
	return text, nil
}
