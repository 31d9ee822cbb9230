import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, relative } from 'node:path'
import { type Endpoints, type ServiceEndpoint, toServer } from '@warder/command-line/endpoints'

/** Default home, relative to the current folder. */
const defaultHome = '.warder'

/** Quotes a path for a POSIX shell, relative if that is shorter. */
function quoteForShell(path: string): string {
  const short = relative(process.cwd(), path) || '.'
  // From the root folder, in which services start, the absolute path is as short and works everywhere.
  const folder = short.startsWith('..') || process.cwd() === '/' ? path : short
  return /^[A-Za-z0-9_./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`
}

/**
 * Formats the command to try the services in another terminal, which has no WARDER_HOME.
 * @param program name of this command; WARDER_PROGRAM if it is installed
 */
export function formatTryCommand(home: string, program = 'npx warder'): string {
  const word = quoteForShell(home)
  return word === defaultHome ? `${program} try` : `${program} try --home ${word}`
}

/**
 * Formats the address of the console, and how browsers trust it if its certificate is of the local authority.
 * @param browserUrl address of the kms for browsers; undefined: there is none
 */
export function formatConsoleLines(
  home: string,
  { kms }: Endpoints,
  browserUrl: string | undefined,
): readonly string[] {
  if (browserUrl === undefined) return []
  const page = `Console: ${browserUrl.replace(/\/+$/, '')}/ui/`
  const file = join(home, 'tls', 'ca.crt')
  if (kms.tls !== undefined || !existsSync(file)) return [page]
  const { fingerprint256 } = new X509Certificate(readFileSync(file))
  return [
    page,
    `Before a browser trusts it, import ${file} as an authority there (SHA-256 ${fingerprint256}).`,
    `On another machine, import /ui/authority.crt of that address after comparing its SHA-256.`,
  ]
}

/**
 * Formats three curl commands for a POSIX shell: log in, create a key, encrypt with it. The session and the key id are stored
 * in shell variables. The password is read from its file, or else from WARDER_ADMIN_PASSWORD; if that is not set, curl
 * prompts for it.
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

/** Address and options of curl for a service. */
interface CurlTarget {
  readonly url: string
  readonly options: readonly string[]
}

/** Uses a name in the certificate as address; `--resolve` maps it to the listen address. */
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
