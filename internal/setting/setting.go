// Package setting reads YAML into structs whose fields say by their tags what stands in the file. The one declaration of a field is its
// reader, its bounds, its documentation and its JSON schema: the configuration of contextd and the manifests of packs are such structs.
//
//	type Config struct {
//		Listen string   `key:"listen" default:"127.0.0.1:8402" doc:"Where to serve."`
//		Log    struct {
//			Level string   `key:"level,live" default:"info" enum:"debug,info" doc:"How much is logged."`
//			_     struct{} `doc:"A field without a name continues the doc before it."`
//		} `key:"log" doc:"The log."`
//		Limits struct {
//			Mails int `key:"mails" default:"5" min:"1" doc:"Mails per address."`
//		} `key:"limits" doc:"How much one may ask for."`
//	}
//
// A Reader takes {log: {level: debug}} and refuses {log: {levle: debug}} with its line and the name that is nearest. Check then refuses
// {limits: {mails: 0}}, wherever the value came from: "limits.mails is 0, not 1 or more".
//
// # Tags
//
//   - key: the name, and after commas: live (a change needs no restart), secret (the value itself may be one), required (in the schema),
//     name (the field is the key that its struct stands under, in a mapping of entries), short (what a single text in place of the
//     struct means)
//   - default: the value where none is set, as text; lists have none
//   - enum: the only values, with commas between
//   - min: the least number
//   - not: what a wrong value is told not to be, in place of the words that follow from enum or min
//   - doc: what it is for
package setting

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Setting is a tagged field of a struct: a value, a list, or a section of settings.
type Setting struct {
	Key      string // in a Table the whole name, such as log.level; else that in its section. "" has a field that is no member
	Doc      string
	Enum     []string // nil means any value
	Secret   bool
	Live     bool
	Required bool
	Named    bool
	Short    bool
	Type     reflect.Type

	text  string // the default
	min   string
	not   string
	index []int
}

// Members are the tagged fields of a struct, each with its name alone.
func Members(of reflect.Type) (list []Setting) {
	for i := range of.NumField() {
		field := of.Field(i)
		tag, ok := field.Tag.Lookup("key")
		doc := field.Tag.Get("doc")
		if field.Name == "_" && doc != "" && len(list) > 0 {
			list[len(list)-1].Doc += " " + doc
		}
		if !ok {
			continue
		}
		words := strings.Split(tag, ",")
		has := func(word string) bool { return slices.Contains(words[1:], word) }
		s := Setting{
			Key: words[0], Doc: doc, Type: field.Type, Secret: has("secret"), Live: has("live"), Required: has("required"),
			Named: has("name"), Short: has("short"),
			text: field.Tag.Get("default"), min: field.Tag.Get("min"), not: field.Tag.Get("not"), index: field.Index,
		}
		if enum, ok := field.Tag.Lookup("enum"); ok {
			s.Enum = strings.Split(enum, ",")
		}
		list = append(list, s)
	}
	return list
}

// Table lists every setting of a struct in the order of its fields, each section before what is in it. What is in the entries of lists is
// not in it.
func Table(of reflect.Type) (list []Setting) {
	for _, s := range Members(of) {
		list = append(list, s)
		if !s.Section() {
			continue
		}
		for _, below := range Table(s.Type) {
			below.Key, below.index = s.Key+"."+below.Key, slices.Concat(s.index, below.index)
			list = append(list, below)
		}
	}
	return list
}

// Section reports whether s is a section of settings.
func (s Setting) Section() bool { return s.Type.Kind() == reflect.Struct }

// Entries reports whether s is a list of entries, each with settings of its own.
func (s Setting) Entries() bool {
	return s.Type.Kind() == reflect.Slice && s.Type.Elem().Kind() == reflect.Struct
}

// In is the value of s in a struct of the type that s was listed for.
func (s Setting) In(v reflect.Value) reflect.Value { return v.FieldByIndex(s.index) }

// Default is the value where none is set: that of its type for values, an empty list for lists, an empty mapping for
// lists whose entries have names, nil for sections.
func (s Setting) Default() any {
	if s.Section() {
		return nil
	}
	if s.Entries() && Members(s.Type.Elem())[0].Named {
		return map[string]any{}
	}
	v := reflect.New(s.Type).Elem()
	if s.Type.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(s.Type, 0, 0))
	} else if s.text != "" {
		_ = SetText(v, s.text) // a test has every default read
	}
	return v.Interface()
}

// SetDefaults sets the settings of a struct to their defaults.
func SetDefaults(v reflect.Value) error {
	for _, s := range Members(v.Type()) {
		switch {
		case s.Section():
			if err := SetDefaults(s.In(v)); err != nil {
				return err
			}
		case s.text != "":
			if err := SetText(s.In(v), s.text); err != nil {
				return fmt.Errorf("the default of %s %w", s.Key, err)
			}
		}
	}
	return nil
}

// SetText sets v to what text says, as it stands in a flag or an environment variable. A list has commas or spaces between its values. The
// error continues a sentence that begins with the name of the setting.
func SetText(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("is not %s", kindBool)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return fmt.Errorf("is not %s", kindInt)
		}
		v.SetInt(i)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.String {
			return fmt.Errorf("is a list of entries, which only a file can have")
		}
		list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
		v.Set(reflect.ValueOf(list).Convert(v.Type()))
	default:
		return fmt.Errorf("cannot be set by a text")
	}
	return nil
}

// What the values of a kind are called.
const (
	kindText   = "a text"
	kindBool   = "true or false"
	kindInt    = "a whole number"
	kindNumber = "a number"
)

// Check reports the first value of a struct, and of the entries of its lists, that is none of its enum or less than its min.
func Check(v reflect.Value) error { return check("", v) }

func check(path string, v reflect.Value) error {
	for _, s := range Members(v.Type()) {
		at, value := join(path, s.Key), s.In(v)
		var err error
		switch {
		case s.Section():
			err = check(at, value)
		case s.Entries():
			for i := 0; i < value.Len() && err == nil; i++ {
				err = check(fmt.Sprintf("%s[%d]", at, i), value.Index(i))
			}
		case s.Enum != nil && !slices.Contains(s.Enum, value.String()):
			not := s.not
			if not == "" {
				not = oneOf(s.Enum)
			}
			err = fmt.Errorf("%s is %q, not %s", at, value.String(), not)
		case s.min != "":
			least, _ := strconv.ParseInt(s.min, 10, 64)
			not := s.not
			if not == "" {
				not = s.min + " or more"
			}
			if value.Int() < least {
				err = fmt.Errorf("%s is %d, not %s", at, value.Int(), not)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// oneOf writes values as "a, b or c". The empty one has no name.
func oneOf(values []string) string {
	named := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	last := len(named) - 1
	if last < 1 {
		return strings.Join(named, "")
	}
	return strings.Join(named[:last], ", ") + " or " + named[last]
}

// Text is what is said of s where all settings are listed: its doc, its values, and whether a reload changes it.
func (s Setting) Text() string {
	if s.Doc == "" { // the section says it
		return ""
	}
	text := s.Doc
	if len(s.Enum) > 0 {
		text += " One of " + strings.TrimPrefix(strings.Join(s.Enum, ", "), ", ") + "."
	}
	if s.Live {
		text += " A reload changes it."
	}
	return text
}

// ParseSpan reads a time such as 24h, 7d or 1m30s.
func ParseSpan(text string) (time.Duration, error) {
	if d, err := api.ParseSpan(text); err == nil {
		return d, nil
	}
	return time.ParseDuration(text)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
