package extensions

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func named(plural, singular, kind string, short ...string) apiextensionsv1.CustomResourceDefinitionNames {
	return apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: singular, Kind: kind, ListKind: kind + "List", ShortNames: short}
}

func TestOnlyFreeNamesAreAccepted(t *testing.T) {
	t.Parallel()
	taken := names{sets.New("gadgets", "gadget", "gd"), sets.New("Gadget", "GadgetList")}
	for sentence, row := range map[string]struct {
		wanted, had, accepted apiextensionsv1.CustomResourceDefinitionNames
		condition             string
	}{
		"all are free":              {wanted: named("widgets", "widget", "Widget", "wd"), accepted: named("widgets", "widget", "Widget", "wd"), condition: "True NoConflicts no conflicts found"},
		"the plural is taken":       {wanted: named("gadgets", "widget", "Widget"), accepted: named("", "widget", "Widget"), condition: `False PluralConflict "gadgets" is already in use`},
		"the singular is taken":     {wanted: named("widgets", "gadget", "Widget"), accepted: named("widgets", "", "Widget"), condition: `False SingularConflict "gadget" is already in use`},
		"two short names are taken": {wanted: named("widgets", "widget", "Widget", "gd", "gadget"), accepted: named("widgets", "widget", "Widget"), condition: `False ShortNamesConflict ["gd" is already in use, "gadget" is already in use]`},
		"the kind is taken":         {wanted: named("widgets", "widget", "Gadget"), accepted: named("widgets", "widget", ""), condition: `False ListKindConflict "GadgetList" is already in use`},
		"they are its own":          {wanted: named("gadgets", "gadget", "Gadget", "gd"), had: named("gadgets", "gadget", "Gadget", "gd"), accepted: named("gadgets", "gadget", "Gadget", "gd"), condition: "True NoConflicts no conflicts found"},
		"the new one is taken":      {wanted: named("widgets", "widget", "Gadget"), had: named("widgets", "widget", "Widget"), accepted: named("widgets", "widget", "Widget"), condition: `False ListKindConflict "GadgetList" is already in use`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			crd := &apiextensionsv1.CustomResourceDefinition{}
			crd.Spec.Names, crd.Status.AcceptedNames = row.wanted, row.had
			taken.accept(crd)
			if row.accepted.Kind == "" {
				row.accepted.ListKind = ""
			}
			assert.Equal(t, row.accepted, crd.Status.AcceptedNames)
			condition := apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted)
			assert.Equal(t, row.condition, string(condition.Status)+" "+condition.Reason+" "+condition.Message)
			established := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established)
			assert.Equal(t, apiextensionsv1.ConditionFalse, established.Status, "that is said by another controller")
			assert.Equal(t, map[bool]string{true: "Installing", false: "NotAccepted"}[condition.Status == apiextensionsv1.ConditionTrue], established.Reason)
		})
	}
}

func TestADefinitionThatIsEstablishedStaysSo(t *testing.T) {
	t.Parallel()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue})
	crd.Spec.Names = named("widgets", "widget", "Widget")
	names{sets.New("widgets"), sets.New[string]()}.accept(crd)
	assert.True(t, apihelpers.IsCRDConditionFalse(crd, apiextensionsv1.NamesAccepted))
	assert.True(t, apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established))
}

func TestADeletionThatHasFailedIsNotSaidToBeInProgressAgain(t *testing.T) {
	t.Parallel()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	apihelpers.SetCRDCondition(crd, terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionPending", ""))
	startDeletion(crd)
	assert.Equal(t, "InstanceDeletionInProgress", apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating).Reason)
	failed := terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", "the webhook is away")
	apihelpers.SetCRDCondition(crd, failed)
	startDeletion(crd)
	assert.Equal(t, failed.Message, apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating).Message, "two reasons by turns would never end")
}
