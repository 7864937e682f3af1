package examine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/doctor"
)

// TestClusterFindings: the doctor says who leads, and finds that none does, other versions and silent nodes.
func TestClusterFindings(t *testing.T) {
	t.Parallel()
	since := time.Unix(1_800_000_000, 0)
	leader := admin.Node{ID: "a", URL: "http://a", Role: admin.RoleLeads, Version: "v1"}
	follower := admin.Node{ID: "b", URL: "http://b", Role: admin.RoleFollows, Version: "v1"}
	newer, silent := follower, follower
	newer.Version, silent.Role = "v2", admin.RoleSilent
	for name, test := range map[string]struct {
		c     admin.Cluster
		want  []doctor.Outcome
		found string
	}{
		"none":     {admin.Cluster{}, []doctor.Outcome{doctor.OK}, "0 nodes; none leads"},
		"leads":    {admin.Cluster{Leader: "a", Since: &since, Self: "a", Nodes: []admin.Node{leader, follower}}, []doctor.Outcome{doctor.OK}, "2 nodes; this one leads"},
		"follows":  {admin.Cluster{Leader: "a", Since: &since, Self: "b", Nodes: []admin.Node{leader, follower}}, []doctor.Outcome{doctor.OK}, "this one follows"},
		"no lead":  {admin.Cluster{Nodes: []admin.Node{follower}}, []doctor.Outcome{doctor.Failure}, "1 node; none leads"},
		"versions": {admin.Cluster{Leader: "a", Since: &since, Nodes: []admin.Node{leader, newer}}, []doctor.Outcome{doctor.OK, doctor.Warning}, "http://b runs v2"},
		"silent":   {admin.Cluster{Leader: "a", Since: &since, Nodes: []admin.Node{leader, silent}}, []doctor.Outcome{doctor.OK, doctor.Warning}, "seconds: http://b"},
	} {
		var got []doctor.Outcome
		var text []string
		for _, f := range clusterFindings("cluster", test.c) {
			got, text = append(got, f.Outcome), append(text, f.Found)
			if (f.Outcome == doctor.OK) != (f.Fix == "") {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !slices.Equal(got, test.want) || !strings.Contains(strings.Join(text, "\n"), test.found) {
			t.Errorf("%s: %v %q", name, got, text)
		}
	}
}
