package endpoints

import (
	"bytes"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/conversion"
	"kube2014/pkg/rest"
)

// converted encodes a list as a table, or as a list of metadata.
func (r *call) converted(list *rest.List) (conversion.Encoded, error) {
	meta := list.ToV1()
	var empty runtime.Object = &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: r.form.as, APIVersion: r.form.groupVersion().String()},
		ListMeta: meta, Items: []metav1.PartialObjectMetadata{}}
	encode := func(item rest.Answer) ([]byte, error) { return r.appendMetadata(nil, item) }
	if r.form.as == "Table" {
		empty, encode = r.emptyTable(meta), r.rowOf
	}
	items := make([][]byte, list.Len())
	err := list.Each(r.Context(), func(i int, item rest.Answer) (err error) {
		items[i], err = encode(item)
		return err
	})
	if err != nil {
		return conversion.Encoded{}, err
	}
	return encodedList(empty, items...)
}

// emptyTable returns a table without rows.
func (r *call) emptyTable(meta metav1.ListMeta) *metav1.Table {
	table := r.resource.Printer.Table()
	table.APIVersion, table.ListMeta = r.form.groupVersion().String(), meta
	return table
}

// encodedList adds items to the JSON of an empty list, whose last field they are.
func encodedList(empty runtime.Object, items ...[]byte) (conversion.Encoded, error) {
	text, err := json.Marshal(empty)
	return conversion.EncodedList(bytes.TrimSuffix(text, []byte("]}")), []byte(","), []byte("]}\n"), items), err
}

// tableOf encodes a table with one row. Its object is left out if the client wants that, but in the bookmark after the initial
// events.
func (r *call) tableOf(metadata metav1.Object, object runtime.Object, answer rest.Answer, columns bool) (conversion.Encoded, error) {
	if _, ends := metadata.GetAnnotations()[metav1.InitialEventsAnnotationKey]; ends && r.include == metav1.IncludeNone {
		defer func() { r.include = metav1.IncludeNone }()
		r.include = metav1.IncludeMetadata
	}
	table := r.emptyTable(metav1.ListMeta{ResourceVersion: metadata.GetResourceVersion()})
	if !columns {
		table.ColumnDefinitions = nil
	}
	row, err := r.row(object, answer)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return encodedList(table, row)
}

func (r *call) rowOf(answer rest.Answer) ([]byte, error) {
	object, err := answer.Object()
	if err != nil {
		return nil, err
	}
	return r.row(object, answer)
}

// row encodes a row of a table, as a metav1.TableRow. The object is that of the answer, whose JSON is
// cached.
func (r *call) row(object runtime.Object, answer rest.Answer) ([]byte, error) {
	cells, conditions := r.resource.Printer.Row(object, r.server.Now())
	text := append(make([]byte, 0, rowSize), `{"cells":[`...)
	var err error
	for i, cell := range cells {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = appendCell(text, cell); err != nil {
			return nil, err
		}
	}
	text = append(text, ']')
	if len(conditions) > 0 {
		encoded, err := json.Marshal(conditions)
		if err != nil {
			return nil, err
		}
		text = append(append(text, `,"conditions":`...), encoded...)
	}
	text, err = r.appendIncluded(append(text, `,"object":`...), answer)
	return append(text, '}'), err
}

// rowSize is the approximate size of a pod's row, in bytes.
const rowSize = 640

// appendCell appends the JSON of a cell. Most cells are words without escapes: to encode them by reflection
// would take a tenth of the time of a table.
func appendCell(text []byte, cell interface{}) ([]byte, error) {
	needsEscape := func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }
	if word, ok := cell.(string); ok && strings.IndexFunc(word, needsEscape) < 0 {
		return append(append(append(text, '"'), word...), '"'), nil
	}
	encoded, err := json.Marshal(cell)
	return append(text, encoded...), err
}

// appendIncluded appends the part of a row's object that the client requests.
func (r *call) appendIncluded(text []byte, answer rest.Answer) ([]byte, error) {
	switch r.include {
	case metav1.IncludeNone:
		return append(text, "null"...), nil
	case metav1.IncludeObject:
		body, err := answer.Encode()
		if err != nil {
			return nil, err
		}
		return append(text, bytes.TrimSuffix(body.Bytes(), newline)...), nil
	}
	return r.appendMetadata(text, answer)
}
