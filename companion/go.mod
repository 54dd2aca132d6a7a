module leyden/companion

go 1.23
