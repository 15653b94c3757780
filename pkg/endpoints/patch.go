package endpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/rest"
)

// maxOperations bounds a JSON patch, as in today's server.
const maxOperations = 10000

// maxMoves bounds the cost of a JSON patch, whose operations may each move all entries of
// the object's longest list. An object has about as many entries as commas.
const maxMoves = 50_000_000

// maxScanned bounds the cost of a JSON patch whose paths are long: all that is in a member
// is read again for each member of a path.
const maxScanned = 64 << 20

func init() {
	jsonpatch.AccumulatedCopySizeLimit = MaxBodySize // the library has it as a variable
}

func (r *request) patch() error {
	storage, err := is[rest.Updater](r)
	if err != nil || r.info.Name == "" {
		return notAllowed()
	}
	options, err := r.patchOptions()
	if err != nil {
		return err
	}
	body, err := r.body()
	if err != nil {
		return err
	}
	apply, twice, err := r.patcher(types.PatchType(r.mediaType()), body)
	if err != nil {
		return err
	}
	var unknown []error
	answer, _, err := storage.Update(r.Context(), r.key(), func(current rest.Object) (rest.Object, error) {
		patched := storage.New()
		if current == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: r.info.GroupVersion.Group, Resource: r.info.Resource}, r.info.Name)
		}
		unknown, err = r.patched(current, patched, apply, body, twice)
		return patched, err
	}, len(options.DryRun) > 0)
	if err == nil {
		err = r.tell(unknown, nil) // a strict one has failed above
	}
	if err != nil {
		return err
	}
	return r.respond(http.StatusOK, answer)
}

func (r *request) patchOptions() (metav1.PatchOptions, error) {
	query := r.URL.Query()
	options := metav1.PatchOptions{DryRun: query["dryRun"], FieldManager: query.Get("fieldManager"), FieldValidation: query.Get("fieldValidation")}
	if query.Has("force") {
		options.Force = new(query.Get("force") != "false" && query.Get("force") != "0")
	}
	return options, invalidOptions("PatchOptions", validation.ValidatePatchOptions(&options, types.PatchType(r.mediaType())))
}

// patched fills into with the patched object, and returns what is wrong with its fields,
// after what the patch gives twice.
func (r *request) patched(current, into rest.Object, apply func(text []byte, kind rest.Object) ([]byte, error), body []byte, twice []error) (unknown []error, err error) {
	before, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	after, err := apply(before, into)
	if err != nil {
		return nil, err
	}
	if len(after) > MaxBodySize {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the patched object has more than %d bytes", MaxBodySize))
	}
	refuse := func(why error) error {
		return rest.Invalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), r.shown(after, body), why.Error())})
	}
	if err := checkQuantities(after); err != nil {
		return nil, err
	}
	if unknown, err = r.decodePatched(after, into); err != nil {
		return nil, refuse(err)
	}
	unknown = append(slices.Clone(twice), unknown...)
	if err := r.agreeOnName(into); err != nil {
		return nil, err
	}
	into.GetObjectKind().SetGroupVersionKind(r.resource.Kind)
	if r.fieldValidation() == metav1.FieldValidationStrict {
		err = r.tell(unknown, refuse)
	}
	return unknown, err
}

// patcher returns how a patch is applied to the JSON of an object of a kind, and what the
// patch gives twice.
func (r *request) patcher(patchType types.PatchType, body []byte) (apply func(text []byte, kind rest.Object) ([]byte, error), twice []error, err error) {
	switch patchType {
	case types.JSONPatchType:
		if twice, err = givenTwice[[]any](body, "error decoding patch: "); err != nil {
			return nil, nil, err
		}
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		if len(patch) > maxOperations {
			return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(patch)))
		}
		return func(text []byte, _ rest.Object) ([]byte, error) {
			if len(patch)*bytes.Count(text, []byte(",")) > maxMoves || deepest(patch)*(len(text)+len(body)) > maxScanned {
				return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the object is too large for %d operations of a JSON patch", len(patch)))
			}
			after, err := patch.Apply(text)
			if err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
			}
			return after, nil
		}, twice, nil
	case types.MergePatchType:
		if twice, err = givenTwice[map[string]any](body, "error decoding patch: "); err != nil {
			return nil, nil, err
		}
		changes, err := decodeMerge(body)
		if err != nil {
			return nil, nil, err
		}
		return func(text []byte, _ rest.Object) ([]byte, error) { return json.Marshal(merged(text, changes)) }, twice, nil
	case types.StrategicMergePatchType:
		if twice, err = givenTwice[map[string]any](body, ""); err != nil {
			return nil, nil, err
		}
		return func(text []byte, kind rest.Object) ([]byte, error) {
			after, err := mergeStrategically(text, body, kind)
			return after, strategicError(err)
		}, twice, nil
	}
	return nil, nil, unsupported(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
}

// givenTwice returns what a patch gives twice. The error is that it is no patch.
func givenTwice[Patch any](body []byte, problem string) ([]error, error) {
	var patch Patch
	twice, err := kjson.UnmarshalStrict(body, &patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(problem + err.Error())
	}
	return twice, nil
}

// deepest returns how many members the longest path in a JSON patch names.
func deepest(patch jsonpatch.Patch) (members int) {
	for _, operation := range patch {
		path, _ := operation.Path() // an operation without a path is refused when it is applied
		from, _ := operation.From()
		members = max(members, strings.Count(path, "/"), strings.Count(from, "/"))
	}
	return members
}

// maxComparisons bounds a strategic merge, which compares each entry of a list with each
// other one. Lists of 2,000 entries take about a second.
const maxComparisons = 4_000_000

// mergeStrategically applies a strategic merge patch to the JSON of an object of a kind.
func mergeStrategically(text, patch []byte, kind rest.Object) ([]byte, error) {
	var before, changes strategicpatch.JSONMap
	if json.Unmarshal(text, &before) != nil || json.Unmarshal(patch, &changes) != nil {
		return nil, mergepatch.ErrBadJSONDoc
	}
	cost := comparisons(map[string]any(changes))
	if cost > 0 { // else no list is merged
		cost += comparisons(map[string]any(before))
	}
	if cost > maxComparisons {
		return nil, apierrors.NewRequestEntityTooLargeError("the lists of the object or of the patch are too long for a strategic merge patch: use a merge patch or a JSON patch")
	}
	after, err := strategicpatch.StrategicMergeMapPatch(before, changes, kind)
	if err != nil {
		return nil, err
	}
	return json.Marshal(after)
}

// comparisons returns the sum of the squares of the lengths of all lists in a value.
func comparisons(value any) (n int) {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			n += comparisons(member)
		}
	case []any:
		n = len(value) * len(value)
		for _, entry := range value {
			n += comparisons(entry)
		}
	}
	return n
}

// strategicError returns the status of an error of a strategic merge.
func strategicError(err error) error {
	switch {
	case err == nil, apierrors.IsRequestEntityTooLargeError(err):
		return err
	case errors.Is(err, mergepatch.ErrNoListOfLists):
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return apierrors.NewBadRequest(err.Error())
}
