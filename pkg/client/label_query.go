package client

import (
	"maps"
	"slices"
	"strings"

	"kube2014/pkg/api"
)

// EncodeLabelQuery encodes labels as k=v,k2=v2, sorted by key. Labels that
// contain a comma or an equals sign cannot be queried: DecodeLabelQuery does not
// return them.
func EncodeLabelQuery(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}

// DecodeLabelQuery decodes a label query; an empty one has no labels. A
// malformed one is an Invalid error (D5).
func DecodeLabelQuery(query string) (map[string]string, error) {
	labels := map[string]string{}
	if query == "" {
		return labels, nil
	}
	for pair := range strings.SplitSeq(query, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || strings.Contains(value, "=") {
			return nil, api.NewInvalid("labels", "%s is not of the form key=value", api.Quote(pair))
		}
		if _, twice := labels[key]; twice {
			return nil, api.NewInvalid("labels", "key %s is given twice", api.Quote(key))
		}
		labels[key] = value
	}
	return labels, nil
}
