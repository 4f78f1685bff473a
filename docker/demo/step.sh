#!/bin/sh
# What the demo's container does: each line is an act that rei must report.
/bin/cat /etc/demo/greeting
/bin/wc -l < /data/input.txt
/bin/nc -w 1 127.0.0.1 9 < /dev/null
/bin/cat /no/such/file
/bin/true
