// The program that holds the namespaces of a pod.
module leyden.invalid/devcluster/pause

go 1.24.0
