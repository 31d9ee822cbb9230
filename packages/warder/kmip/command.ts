import type { Command } from '../cli/command.ts'
import { placeHelp, runKmip } from './index.ts'

export const kmip: Command = {
  name: 'kmip',
  summary: 'sends KMIP messages, explains dumps, lists what a server can do, issues certificates for clients',
  help: `warder kmip send FILE|-    [--as FORM] [--kmip-version V] [--show-secrets] [WHERE]
warder kmip explain HEX|FILE|-    [--show-secrets]
warder kmip query          [--as FORM] [WHERE]
warder kmip certificate NAME    [--out PATH] [--days N] [--rsa] [--home DIR]

send     sends one message and prints the answer; exit code 1 when an item of it failed. The file is XML, JSON, binary or
         a hex dump. JSON may be a single operation: {"tag":"Query","value":[…]}; it gets an envelope.
explain  decodes a hex dump (digits, xxd, hexdump -C), or a file, an item a line: byte offset, name, type, value. What is
         wrong with the bytes is told with its place, and reading goes on behind it; exit code 1 then.
certificate    issues a client certificate by the local authority of the home, for one more program or device: NAME.crt
         and NAME.key (or PATH.crt and PATH.key), 397 days unless --days says otherwise. NAME is the user it speaks for.
         --rsa makes an RSA key, for devices that know no other; else it is a P-256 key.
query    asks a server for its versions, operations, object types, profiles and whatever else Query tells.

  --as FORM             text, json, xml or hex; default: as the request was written, text for binary
  --kmip-version V      version of a single operation (default 2.1)
  --show-secrets        prints key material and passwords too, which text leaves out

${placeHelp}

Example:
  warder kmip query
  warder kmip certificate storage-1
  echo '{"tag":"Locate","value":[]}' | warder kmip send -
  warder kmip send create.xml --socket kms.example.com:5696 --cert me.crt --key me.key --ca-file ca.crt
  warder kmip explain 42007801000000304200770100000028420069010000002042006a0200000004000000010000000042006b02000000040000000000000000
  xxd capture.bin | warder kmip explain -`,
  run: runKmip,
}
