package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
)

// told is what plugins were asked, in order.
type told struct{ calls []string }

// all wants to know of every operation but those that it leaves out.
type all struct {
	told   *told
	name   string
	except admission.Operation
}

func (p all) Handles(operation admission.Operation) bool { return operation != p.except }

func (p all) tell(step string, a *admission.Attributes) {
	text := p.name + " " + step + " " + string(a.Operation) + " " + a.Name
	if a.Reinvoked() {
		text += " again"
	}
	p.told.calls = append(p.told.calls, text)
}

// changing changes the image of pods.
type changing struct {
	all
	image string
	again bool
	err   error
}

func (p changing) Admit(_ context.Context, a *admission.Attributes) error {
	p.tell("admits", a)
	if pod, ok := a.Object.(*corev1.Pod); ok && p.image != "" {
		pod.Spec.Containers[0].Image += p.image
	}
	if p.again {
		a.Reinvoke()
	}
	return p.err
}

// checking refuses with an error.
type checking struct {
	all
	err   error
	ended func(known bool)
}

func (p checking) Validate(_ context.Context, a *admission.Attributes) error {
	p.tell("validates", a)
	if p.ended != nil {
		a.OnEnd(p.ended)
	}
	return p.err
}

// both changes and checks.
type both struct {
	changing
	checking
}

func (both) Handles(admission.Operation) bool { return true }

// chainOf returns a chain of plugins, whose names are numbers.
func chainOf(t *testing.T, plugins ...admission.Interface) *admission.Chain {
	known := admission.Plugins{}
	var names []string
	for i, plugin := range plugins {
		names = append(names, string(rune('a'+i)))
		known[names[i]] = func(json.RawMessage) (admission.Interface, error) { return plugin, nil }
	}
	chain, err := known.New(names, nil)
	require.NoError(t, err)
	return chain
}

func aPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "x"}}}}
}

func begin(t *testing.T, chain *admission.Chain, operation admission.Operation) *admission.Request {
	return chain.Begin(t.Context(), admission.Attributes{Operation: operation})
}

func TestFirstThosePluginsThatChangeThenThoseThatCheckInTheirOrder(t *testing.T) {
	t.Parallel()
	told := &told{}
	first, second, third := all{told, "first", ""}, all{told, "second", ""}, all{told, "third", ""}
	chain := chainOf(t, checking{all: first}, both{changing{all: second, image: "y"}, checking{all: second}}, changing{all: third, image: "z"})
	request := begin(t, chain, admission.Create)
	object, err := request.Mutate(aPod("web"), nil)
	require.NoError(t, err)
	assert.Equal(t, "xyz", object.(*corev1.Pod).Spec.Containers[0].Image)
	require.NoError(t, request.Validate(object, nil))
	assert.Equal(t, []string{"second admits CREATE web", "third admits CREATE web", "first validates CREATE web", "second validates CREATE web"}, told.calls)
}

func TestAPluginIsAskedOnlyOfWhatItHandles(t *testing.T) {
	t.Parallel()
	told := &told{}
	chain := chainOf(t, changing{all: all{told, "not creates", admission.Create}}, checking{all: all{told, "not deletes", admission.Delete}})
	for _, operation := range []admission.Operation{admission.Create, admission.Update, admission.Delete} {
		request := begin(t, chain, operation)
		_, err := request.Mutate(nil, aPod(""))
		require.NoError(t, err)
		require.NoError(t, request.Validate(nil, aPod("web")))
	}
	assert.Equal(t, []string{"not deletes validates CREATE ", "not creates admits UPDATE ", "not deletes validates UPDATE ", "not creates admits DELETE "}, told.calls)
}

func TestAnUpdateOfNothingIsACreate(t *testing.T) {
	t.Parallel()
	told := &told{}
	request := begin(t, chainOf(t, both{changing{all: all{told, "x", ""}}, checking{all: all{told, "x", ""}}}), admission.Update)
	_, err := request.Mutate(aPod("web"), nil)
	require.NoError(t, err)
	require.NoError(t, request.Validate(aPod("web"), nil))
	require.NoError(t, request.Validate(aPod("web"), aPod("web")))
	assert.Equal(t, []string{"x admits CREATE web", "x validates CREATE web", "x validates UPDATE web"}, told.calls)
}

func TestTheFirstErrorEndsTheAdmission(t *testing.T) {
	t.Parallel()
	told, refusal := &told{}, errors.New("no")
	chain := chainOf(t, changing{all: all{told, "first", ""}, err: refusal}, changing{all: all{told, "second", ""}})
	_, err := begin(t, chain, admission.Create).Mutate(aPod("web"), nil)
	assert.Equal(t, refusal, err)
	chain = chainOf(t, checking{all: all{told, "third", ""}, err: refusal}, checking{all: all{told, "fourth", ""}})
	assert.Equal(t, refusal, begin(t, chain, admission.Create).Validate(aPod("web"), nil))
	assert.Equal(t, []string{"first admits CREATE web", "third validates CREATE web"}, told.calls)
}

func TestThereIsOneMoreRoundIfAPluginWantsItAndNotMore(t *testing.T) {
	t.Parallel()
	told := &told{}
	chain := chainOf(t, changing{all: all{told, "first", ""}}, changing{all: all{told, "second", ""}, again: true})
	_, err := begin(t, chain, admission.Create).Mutate(aPod("web"), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"first admits CREATE web", "second admits CREATE web", "first admits CREATE web again", "second admits CREATE web again"}, told.calls)
}

func TestAPluginIsToldWhetherItIsKnownHowTheRequestEnded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refusal, outcome error
		known            bool
	}{
		"it was made":                       {nil, nil, true},
		"the store says that it was not":    {nil, apierrors.NewConflict(corev1.Resource("pods"), "web", errors.New("x")), true},
		"the store did not answer":          {nil, apierrors.NewServiceUnavailable("x"), false},
		"something else":                    {nil, errors.New("x"), false},
		"a plugin did not let it be tried":  {apierrors.NewInternalError(errors.New("x")), apierrors.NewInternalError(errors.New("x")), true},
		"a plugin that forbids it is clear": {apierrors.NewForbidden(corev1.Resource("pods"), "web", errors.New("x")), errors.New("x"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ended []bool
			chain := chainOf(t, checking{all: all{&told{}, "x", ""}, err: row.refusal, ended: func(known bool) { ended = append(ended, known) }})
			request := begin(t, chain, admission.Create)
			_ = request.Validate(aPod("web"), nil)
			request.End(row.outcome)
			request.End(row.outcome)
			assert.Equal(t, []bool{row.known}, ended, "and once")
		})
	}
}

func TestWithoutAChainEverythingIsAdmitted(t *testing.T) {
	t.Parallel()
	var chain *admission.Chain
	request, pod := chain.Begin(t.Context(), admission.Attributes{Operation: admission.Create}), aPod("web")
	object, err := request.Mutate(pod, nil)
	require.NoError(t, err)
	assert.Same(t, pod, object)
	assert.NoError(t, request.Validate(pod, nil))
	request.End(nil)
	chain.Each(func(string, admission.Interface) { t.Error("there is none") })
}

func TestEachCallGoesThroughWhatIsAround(t *testing.T) {
	t.Parallel()
	var seen []string
	chain := chainOf(t, both{changing{all: all{&told{}, "x", ""}}, checking{all: all{&told{}, "x", ""}}})
	chain.Around = func(call admission.Call, next func() error) error {
		seen = append(seen, call.Plugin+" "+string(call.Step)+" "+call.Attributes.Name)
		return next()
	}
	request := begin(t, chain, admission.Create)
	_, err := request.Mutate(aPod("web"), nil)
	require.NoError(t, err)
	require.NoError(t, request.Validate(aPod("web"), nil))
	assert.Equal(t, []string{"a admit web", "a validate web"}, seen)
}

func TestAPartOfAChainHasOnlyThePluginsThatAreWanted(t *testing.T) {
	t.Parallel()
	told := &told{}
	chain := chainOf(t, checking{all: all{told, "first", ""}}, checking{all: all{told, "second", ""}})
	part := chain.Only(func(name string) bool { return name == "b" })
	require.NoError(t, begin(t, part, admission.Create).Validate(aPod("web"), nil))
	assert.Equal(t, []string{"second validates CREATE web"}, told.calls)
	assert.Nil(t, chain.Only(func(string) bool { return false }))
}

// resting has nothing to decide in one namespace.
type resting struct {
	checking
	in string
}

func (r resting) Idle(namespace string) bool { return namespace == r.in }

func TestAPluginThatHasNothingToDecideIsNotAsked(t *testing.T) {
	t.Parallel()
	told := &told{}
	chain := chainOf(t, resting{checking{all: all{told, "first", ""}}, "still"}, resting{checking{all: all{told, "second", ""}}, "quiet"})
	for _, namespace := range []string{"still", "quiet", "busy"} {
		request := chain.Begin(t.Context(), admission.Attributes{Operation: admission.Create, Namespace: namespace})
		require.NoError(t, request.Validate(aPod(namespace), nil))
		assert.False(t, chain.Idle(namespace), "others have")
	}
	assert.Equal(t, []string{"second validates CREATE still", "first validates CREATE quiet", "first validates CREATE busy", "second validates CREATE busy"}, told.calls)
	assert.True(t, chain.Only(func(name string) bool { return name == "a" }).Idle("still"))
	assert.True(t, (*admission.Chain)(nil).Idle("still"))
}

// selecting decides only about one resource.
type selecting struct {
	checking
	resource string
}

func (s selecting) Selects(resource schema.GroupResource, subresource string) bool {
	return resource.Resource == s.resource && subresource == ""
}

func TestAPluginIsAskedOnlyOfTheResourcesThatItSelects(t *testing.T) {
	t.Parallel()
	told := &told{}
	chain := chainOf(t, selecting{checking{all: all{told, "first", ""}}, "pods"}, checking{all: all{told, "second", ""}})
	for resource, subresource := range map[string]string{"pods": "", "nodes": "", "services": "status"} {
		request := chain.Begin(t.Context(), admission.Attributes{Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource(resource), Subresource: subresource})
		require.NoError(t, request.Validate(aPod(resource), nil))
	}
	assert.ElementsMatch(t, []string{"first validates CREATE pods", "second validates CREATE pods", "second validates CREATE nodes", "second validates CREATE services"}, told.calls)
}

func TestAPluginThatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	known := admission.Plugins{}
	var given []string
	make := func(configuration json.RawMessage) (admission.Interface, error) {
		given = append(given, string(configuration))
		return checking{}, nil
	}
	known["Good"] = make
	known["Bad"] = func(json.RawMessage) (admission.Interface, error) { return nil, errors.New("limits: is missing") }
	assert.Equal(t, []string{"Bad", "Good"}, known.Names())
	_, err := known.New([]string{"Good", "Bad", "Other"}, map[string]json.RawMessage{"Good": json.RawMessage(`{"a":1}`)})
	assert.EqualError(t, err, "Bad: limits: is missing\nthere is no plugin Other")
	assert.Equal(t, []string{`{"a":1}`}, given)
}

func TestAPluginRemembersWithinOneRequest(t *testing.T) {
	t.Parallel()
	type key struct{}
	var counts []int
	chain := chainOf(t, counting(func(a *admission.Attributes) {
		count := admission.Memory[int](a, key{})
		*count++
		counts = append(counts, *count)
	}))
	for range 2 {
		request := begin(t, chain, admission.Create)
		require.NoError(t, request.Validate(aPod("web"), nil))
		require.NoError(t, request.Validate(aPod("web"), nil))
	}
	assert.Equal(t, []int{1, 2, 1, 2}, counts)
}

type counting func(*admission.Attributes)

func (counting) Handles(admission.Operation) bool { return true }

func (c counting) Validate(_ context.Context, a *admission.Attributes) error {
	c(a)
	return nil
}

func TestForbiddenIsToldInTodaysWords(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		name   string
		object admission.Object
		words  string
	}{
		"by its name":           {"web", nil, `pods "web" is forbidden: no`},
		"by what it is to have": {"", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}}, `pods "web-" is forbidden: no`},
		"a collection":          {"", nil, `pods "Unknown" is forbidden: no`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &admission.Attributes{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Name: row.name, Object: row.object}
			assert.EqualError(t, admission.Forbidden(a, errors.New("no")), row.words)
		})
	}
}
