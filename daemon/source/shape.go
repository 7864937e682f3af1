package source

import (
	"reflect"
	"slices"
)

// FieldShape is in how many rows of a document a field is known. In the others it was missing, or of a type that it cannot be read of.
type FieldShape struct {
	Name  string `json:"field"`
	Known int    `json:"known"`
	Rows  int    `json:"rows"`
}

// Shape is what the rows of doc, an answer of c, have of the fields that are read of it.
func (c Connector) Shape(doc Doc) []FieldShape {
	if rows, is := doc.(*RowsDoc); is {
		shape := make([]FieldShape, len(c.Fields))
		for i, name := range c.Fields {
			shape[i] = FieldShape{Name: name, Rows: len(rows.Rows)}
			for j := range rows.Rows {
				if rows.Rows[j].Value(name) != nil {
					shape[i].Known++
				}
			}
		}
		return shape
	}
	v := reflect.ValueOf(doc)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	v = v.Elem()
	rows := []reflect.Value{v} // a document that is one row
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct {
			rows = rows[:0]
			for j := range f.Len() {
				rows = append(rows, f.Index(j))
			}
			break
		}
	}
	return shapeOf(rows)
}

func shapeOf(rows []reflect.Value) (shape []FieldShape) {
	for _, row := range rows {
		for i := range row.NumField() {
			name := row.Type().Field(i).Name
			at := slices.IndexFunc(shape, func(f FieldShape) bool { return f.Name == name })
			if at < 0 {
				at = len(shape)
				shape = append(shape, FieldShape{Name: name, Rows: len(rows)})
			}
			if !row.Field(i).IsZero() {
				shape[at].Known++
			}
		}
	}
	return shape
}
