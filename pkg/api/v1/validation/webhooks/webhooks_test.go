package webhooks

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

func TestManyExpressionsAreCompiledAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for _, named := range []string{"Any", "BoolValue", "BytesValue", "DoubleValue", "Duration", "FloatValue", "Int32Value", "Int64Value", "StringValue", "Timestamp"} {
		all.Go(func() {
			condition := &matchconditions.MatchCondition{Expression: "google.protobuf." + named + "{} != null"}
			assert.Nil(t, Compiler().CompileCELExpression(condition, Variables, environment.NewExpressions).Error, named)
		})
	}
	all.Wait()
}
