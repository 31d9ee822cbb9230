import { relative } from 'node:path'
import type { Endpoints } from './endpoints.ts'

/**
 * Three curl lines that work as they are in a POSIX shell: log in, make a key, encrypt with it.
 * They read the password from the file and keep the session and the key id in shell variables.
 */
export function firstLines(home: string, endpoints: Endpoints): readonly string[] {
  const folder = relative(process.cwd(), home).startsWith('..') ? home : relative(process.cwd(), home) || '.'
  const shown = /^[A-Za-z0-9_./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`
  const curl = `curl -sS --cacert ${shown}/tls/ca.crt`
  const json = "-H 'Content-Type: application/json'"
  return [
    `TOKEN=$(${curl} -u "admin:$(cat ${shown}/initial-admin-password)" -X POST '${endpoints.auth.url}/login?realm=_' -D - -o /dev/null | sed -n 's/^[Ss]et-[Cc]ookie: _ea_=\\([^;]*\\).*/\\1/p')`,
    `KID=$(${curl} -H "Authorization: Bearer $TOKEN" ${json} -d '{"kty":"oct","alg":"A256GCM"}' ${endpoints.kms.url}/v1/crypto/keys | sed 's/.*"kid":"\\([^"]*\\)".*/\\1/')`,
    `${curl} -H "Authorization: Bearer $TOKEN" ${json} -d "{\\"kid\\":\\"$KID\\",\\"alg\\":\\"dir\\",\\"enc\\":\\"A256GCM\\",\\"data\\":\\"aGVsbG8\\"}" ${endpoints.kms.url}/v1/crypto/encrypt; echo`,
  ]
}
