import { relative } from 'node:path'
import type { Endpoints } from './endpoints.ts'

/** Where a home is without a word, from the folder that one is in. */
const defaultHome = '.warder'

/** The folder as a word of a POSIX shell, short where it can be. */
function shellWord(home: string): string {
  const folder = relative(process.cwd(), home).startsWith('..') ? home : relative(process.cwd(), home) || '.'
  return /^[A-Za-z0-9_./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`
}

/** The command that tries the started services, as it works in another terminal: that one knows no WARDER_HOME. */
export function tryCommand(home: string): string {
  const word = shellWord(home)
  return word === defaultHome ? 'npx warder try' : `npx warder try --home ${word}`
}

/**
 * Three curl lines that work as they are in a POSIX shell: log in, make a key, encrypt with it.
 * They read the password from the file and keep the session and the key id in shell variables.
 */
export function firstLines(home: string, endpoints: Endpoints): readonly string[] {
  const shown = shellWord(home)
  const curl = `curl -sS --cacert ${shown}/tls/ca.crt`
  const json = "-H 'Content-Type: application/json'"
  return [
    `TOKEN=$(${curl} -u "admin:$(cat ${shown}/initial-admin-password)" -X POST '${endpoints.auth.url}/login?realm=_' -D - -o /dev/null | sed -n 's/^[Ss]et-[Cc]ookie: _ea_=\\([^;]*\\).*/\\1/p')`,
    `KID=$(${curl} -H "Authorization: Bearer $TOKEN" ${json} -d '{"kty":"oct","alg":"A256GCM"}' ${endpoints.kms.url}/v1/crypto/keys | sed 's/.*"kid":"\\([^"]*\\)".*/\\1/')`,
    `${curl} -H "Authorization: Bearer $TOKEN" ${json} -d "{\\"kid\\":\\"$KID\\",\\"alg\\":\\"dir\\",\\"enc\\":\\"A256GCM\\",\\"data\\":\\"aGVsbG8\\"}" ${endpoints.kms.url}/v1/crypto/encrypt; echo`,
  ]
}
