package responsewriters

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api/conversion"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
)

// converted encodes a list as a table, or as a list of metadata.
func (r *Response) converted(list *rest.List) (conversion.Encoded, error) {
	meta := list.ToV1()
	var empty runtime.Object = &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: r.Form.As, APIVersion: r.Form.GroupVersion().String()},
		ListMeta: meta, Items: []metav1.PartialObjectMetadata{}}
	encode := func(item rest.Answer) ([]byte, error) { return r.appendMetadata(nil, item) }
	if r.Form.As == "Table" {
		empty, encode = r.emptyTable(meta), func(item rest.Answer) ([]byte, error) { return r.row(item, item.Object) }
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
func (r *Response) emptyTable(meta metav1.ListMeta) *metav1.Table {
	table := r.Resource.Printer.Table()
	table.APIVersion, table.ListMeta = r.Form.GroupVersion().String(), meta
	return table
}

// encodedList adds items to the JSON of an empty list, whose last field they are.
func encodedList(empty runtime.Object, items ...[]byte) (conversion.Encoded, error) {
	text, err := json.Marshal(empty)
	return conversion.EncodedList(bytes.TrimSuffix(text, []byte("]}")), []byte(","), []byte("]}\n"), items), err
}

// tableOf encodes a table with one row. Its object is left out if the client wants that, but in the bookmark after the initial
// events.
func (r *Response) tableOf(metadata metav1.Object, object runtime.Object, answer rest.Answer, columns bool) (conversion.Encoded, error) {
	if _, ends := metadata.GetAnnotations()[metav1.InitialEventsAnnotationKey]; ends && r.Include == metav1.IncludeNone {
		defer func() { r.Include = metav1.IncludeNone }()
		r.Include = metav1.IncludeMetadata
	}
	table := r.emptyTable(metav1.ListMeta{ResourceVersion: metadata.GetResourceVersion()})
	if !columns {
		table.ColumnDefinitions = nil
	}
	row, err := r.row(answer, func() (runtime.Object, error) { return object, nil })
	if err != nil {
		return conversion.Encoded{}, err
	}
	return encodedList(table, row)
}

// row encodes a row of a table, as a metav1.TableRow. Its cells, for which the object is decoded, and the JSON of the object
// are cached.
func (r *Response) row(answer rest.Answer, decoded func() (runtime.Object, error)) ([]byte, error) {
	row, err := answer.Derived(r.Resource.Name, func() ([]byte, error) {
		object, err := decoded()
		if err != nil {
			return nil, err
		}
		return r.Resource.Printer.Row(object)
	})
	if err != nil {
		return nil, err
	}
	text := printers.AppendRow(append(make([]byte, 0, rowSize), '{'), row, r.Now())
	text, err = r.appendIncluded(append(text, `,"object":`...), answer)
	return append(text, '}'), err
}

// rowSize is the approximate size of a pod's row, in bytes.
const rowSize = 1280

// appendIncluded appends the part of a row's object that the client requests.
func (r *Response) appendIncluded(text []byte, answer rest.Answer) ([]byte, error) {
	switch r.Include {
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
