import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, relative } from 'node:path'
import { type Endpoints, type ServiceEndpoint, toServer } from '../installation/endpoints.ts'

/** Default home, from the current folder. */
const defaultHome = '.warder'

/** A path as a word of a POSIX shell, short where it can be. */
function quoteForShell(path: string): string {
  const short = relative(process.cwd(), path) || '.'
  // From the root, where services start, the whole path is as short, and right elsewhere, too.
  const folder = short.startsWith('..') || process.cwd() === '/' ? path : short
  return /^[A-Za-z0-9_./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`
}

/**
 * The command that tries the started services, as it works in another terminal: that one knows no WARDER_HOME.
 * @param program how this command was called; WARDER_PROGRAM says it where it is installed
 */
export function formatTryCommand(home: string, program = 'npx warder'): string {
  const word = quoteForShell(home)
  return word === defaultHome ? `${program} try` : `${program} try --home ${word}`
}

/**
 * Three curl lines that work as they are in a POSIX shell: log in, make a key, encrypt with it. They keep the session and
 * the key id in shell variables. The password is read from its file; where there is none, because it was given as
 * WARDER_ADMIN_PASSWORD, it is taken from that variable, and curl asks for it where the variable is not set.
 */
export function formatFirstLines(home: string, endpoints: Endpoints): readonly string[] {
  const [auth, kms] = [toCurlTarget(home, endpoints.auth), toCurlTarget(home, endpoints.kms)]
  const json = "-H 'Content-Type: application/json'"
  const passwordFile = join(home, 'initial-admin-password')
  const login = existsSync(passwordFile)
    ? `"admin:$(cat ${quoteForShell(passwordFile)})"`
    : `"admin\${WARDER_ADMIN_PASSWORD:+:$WARDER_ADMIN_PASSWORD}"`
  return [
    `TOKEN=$(${formatCurl(auth)} -u ${login} -X POST '${auth.url}/login?realm=_' -D - -o /dev/null | sed -n 's/^[Ss]et-[Cc]ookie: _ea_=\\([^;]*\\).*/\\1/p')`,
    `KID=$(${formatCurl(kms)} -H "Authorization: Bearer $TOKEN" ${json} -d '{"kty":"oct","alg":"A256GCM"}' ${kms.url}/v1/crypto/keys | sed 's/.*"kid":"\\([^"]*\\)".*/\\1/')`,
    `${formatCurl(kms)} -H "Authorization: Bearer $TOKEN" ${json} -d "{\\"kid\\":\\"$KID\\",\\"alg\\":\\"dir\\",\\"enc\\":\\"A256GCM\\",\\"data\\":\\"aGVsbG8\\"}" ${kms.url}/v1/crypto/encrypt; echo`,
  ]
}

/** How curl reaches a service: the address to call, and the options that it takes, each a word. */
interface CurlTarget {
  readonly url: string
  readonly options: readonly string[]
}

/** The address has a name that the certificate has; `--resolve` brings it to where the service listens. */
function toCurlTarget(home: string, endpoint: ServiceEndpoint): CurlTarget {
  const { url, caFile, serverName } = toServer(home, endpoint)
  const trust = caFile === undefined || url.startsWith('http:') ? [] : ['--cacert', caFile]
  if (serverName === undefined) return { url, options: trust }
  const { hostname, port } = new URL(url)
  const listens = isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? '127.0.0.1' : hostname
  return {
    url: `https://${serverName}:${port}`,
    options: ['--resolve', `${serverName}:${port}:${listens}`, ...trust],
  }
}

function formatCurl({ options }: CurlTarget): string {
  return ['curl -sS', ...options.map((word) => (word.startsWith('/') ? quoteForShell(word) : word))].join(' ')
}
