import { createHash } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { KeyedLimiter } from '@warder/base'
import {
  createPlainFetch,
  createTlsProbe,
  type OutboundCode,
  OutboundError,
  type PlainFetch,
  type Resolve,
  systemResolve,
  type TlsProbe,
} from '@warder/outbound'
import {
  derContent,
  derElements,
  derTag,
  generalName,
  generalNameText,
  PkiError,
  readCertificate,
  readCertificateExtensions,
} from '@warder/pki'
import { type CaaQuestion, type CaaRecord, checkCaa } from './caa.ts'
import type { ChallengeType, Identifier } from './identifiers.ts'
import { acmeProblem, createProblem, type Problem, type ProblemType } from './problem.ts'

const dnsTimeoutMs = 3000
const tries = 2

/** @param servers `address` or `address:port`; empty: those of the system */
function createResolver(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries })
  if (servers.length > 0) resolver.setServers(servers)
  return resolver
}

/** Resolves addresses with these servers only, without the hosts file. */
function dnsResolve(resolver: Resolver): Resolve {
  return async (name) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = [
      ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
    ]
    if (found.length === 0 && four.status === 'rejected') throw four.reason
    return found
  }
}

/** The proof to be found at an identifier's address. */
interface Proof {
  readonly identifier: Identifier
  readonly token: string
  readonly keyAuthorization: string
}

/** Outbound clients for the validation of challenges. */
interface Ways {
  readonly http: PlainFetch
  readonly httpPort: number
  readonly tls: TlsProbe
  readonly dns: Pick<Resolver, 'resolveTxt'>
}

/** RFC 8555 §8.1 */
export function keyAuthorization(token: string, thumbprint: string): string {
  return `${token}.${thumbprint}`
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** RFC 8555 §8.4: a TXT record contains the digest of the key authorization. */
async function checkDns(
  { identifier, keyAuthorization }: Proof,
  { dns }: Ways,
): Promise<Problem | undefined> {
  const name = `_acme-challenge.${identifier.value}`
  let records: readonly (readonly string[])[]
  try {
    records = await dns.resolveTxt(name)
  } catch {
    return createProblem('dns', `${name} has no TXT record that can be resolved.`)
  }
  const wanted = sha256(keyAuthorization).toString('base64url')
  return records.some((parts) => parts.join('') === wanted)
    ? undefined
    : createProblem('incorrectResponse', `No TXT record of ${name} matches the challenge.`)
}

/** id-pe-acmeIdentifier (RFC 8737 §3). */
const acmeIdentifier = '1.3.6.1.5.5.7.1.31'
const protocol = 'acme-tls/1'

/**
 * RFC 8737, RFC 8738 §6: the host presents a certificate with the digest of the key authorization.
 * @throws OutboundError
 */
async function checkTls(
  { identifier, keyAuthorization }: Proof,
  { tls }: Ways,
): Promise<Problem | undefined> {
  const { value } = identifier
  const der = await tls.certificate(value, protocol, toServerName(value))
  try {
    return problemIn(der, identifier.type === 'dns' ? `DNS:${value}` : `IP:${value}`, keyAuthorization)
  } catch (error) {
    if (error instanceof PkiError) return wrong('cannot be read')
    throw error
  }
}

function problemIn(der: Uint8Array, name: string, keyAuthorization: string): Problem | undefined {
  const names = readCertificate(der).subjectAlternativeNames
  const [only] = names
  const expected = generalNameText(generalName(name))
  if (
    names.length !== 1 ||
    only === undefined ||
    generalNameText(only).toLowerCase() !== expected.toLowerCase()
  )
    return wrong('does not have this identifier as its only name')
  const extension = readCertificateExtensions(der).find(({ identifier }) => identifier === acmeIdentifier)
  if (extension === undefined || !extension.critical) return wrong('has no critical extension acmeIdentifier')
  const [element] = derElements(extension.value, 'acmeIdentifier')
  const digest = derContent(element, derTag.octetString, 'acmeIdentifier')
  return Buffer.compare(digest, sha256(keyAuthorization)) === 0
    ? undefined
    : wrong('does not match this challenge')
}

function wrong(what: string): Problem {
  return createProblem('incorrectResponse', `The certificate that was presented for ${protocol} ${what}.`)
}

/** The server name in the handshake; for an address its name in the reverse zone (RFC 8738 §6). */
function toServerName(value: string): string {
  const family = isIP(value)
  if (family === 0) return value
  if (family === 4) return `${value.split('.').reverse().join('.')}.in-addr.arpa`
  const nibbles = expandAddress(value).replaceAll(':', '')
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`
}

/** All 32 digits of an IPv6 address. */
function expandAddress(address: string): string {
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(left), groups(right)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(':')
}

interface ProbeSettings {
  /** true: challenges are validated in private, loopback and link-local networks, too. */
  readonly allowPrivateNetworks: boolean
  readonly httpPort: number
  readonly tlsPort: number
  /** `address` or `address:port`; empty: those of the system. */
  readonly dnsServers: readonly string[]
}

export interface ChallengeProbes {
  /**
   * Validates a challenge once.
   * @returns the problem; undefined: the challenge is valid
   * @throws rateLimited when too many validations are running
   */
  check(type: ChallengeType, proof: Proof): Promise<Problem | undefined>
  /**
   * Checks whether CAA records permit the authority to issue for these names.
   * @returns the first problem; undefined: issuance is permitted
   * @throws rateLimited
   */
  caa(questions: readonly CaaQuestion[]): Promise<Problem | undefined>
}

const timeoutMs = 10_000
const redirectLimit = 10
/** A key authorization has 87 characters; servers may add white space. */
const maxResponseBytes = 4096
/** Maximum number of concurrent validations of one worker, in all and per host. */
const maxConcurrent = 64
const maxPerHost = 8
/** Time limit of the CAA checks for all names of an order. */
const caaMs = 20_000

const checks: Readonly<Record<ChallengeType, (proof: Proof, ways: Ways) => Promise<Problem | undefined>>> = {
  'http-01': checkHttp,
  'dns-01': checkDns,
  'tls-alpn-01': checkTls,
}

export function createProbes(settings: ProbeSettings): ChallengeProbes {
  const { allowPrivateNetworks, httpPort, tlsPort, dnsServers } = settings
  const resolver = createResolver(dnsServers)
  const resolve: Resolve = dnsServers.length === 0 ? systemResolve : dnsResolve(resolver)
  const privateNetworksSetting = 'acme_allow_private_networks'
  // Connects directly: a proxy between the service and a host would decide who controls its name.
  const common = { proxy: undefined, allowPrivateNetworks, privateNetworksSetting, timeoutMs, resolve }
  const ways: Ways = {
    http: createPlainFetch({
      ...common,
      ports: [httpPort, tlsPort],
      maxRedirects: redirectLimit,
      maxBytes: maxResponseBytes,
    }),
    httpPort,
    tls: createTlsProbe({ ...common, port: tlsPort }),
    dns: resolver,
  }
  const running = new KeyedLimiter(maxConcurrent, maxPerHost)
  const queryCaa = async (name: string) =>
    (await resolver.resolveCaa(name)) as unknown as readonly CaaRecord[]
  return {
    async caa(questions) {
      const until = performance.now() + caaMs
      const account = questions[0]?.account ?? ''
      if (!running.tryAcquire(account, 1)) throw tooMany('CAA records')
      try {
        for (const question of questions) {
          const problem =
            performance.now() > until
              ? createProblem('caa', 'The CAA records could not be looked up in time.')
              : await checkCaa(question, queryCaa)
          if (problem !== undefined) return problem
        }
        return undefined
      } finally {
        running.release(account, 1)
      }
    },
    async check(type, proof) {
      const host = proof.identifier.value
      if (!running.tryAcquire(host, 1)) throw tooMany('challenges')
      try {
        return await checks[type](proof, ways)
      } catch (error) {
        if (error instanceof OutboundError) return createProblem(...describeFailure(error, host))
        throw error
      } finally {
        running.release(host, 1)
      }
    },
  }
}

function tooMany(what: string) {
  return acmeProblem('rateLimited', `Too many ${what} are being validated: try again.`, {
    retryAfterSeconds: 10,
  })
}

const problemTypes: Partial<Readonly<Record<OutboundCode, ProblemType>>> = { name: 'dns' }

/** The response from the address is not disclosed: the address may be in a network that the client cannot reach. */
const sentences: Readonly<Record<OutboundCode, string>> = {
  url: 'resolves to an address or a port that is not permitted',
  name: 'cannot be resolved',
  address: 'resolves to an address that is not public',
  redirect: 'redirects too often',
  time: 'did not respond in time',
  size: 'responds with more than a key authorization',
  connection: 'does not accept a connection',
}

function describeFailure({ code: reason }: OutboundError, host: string): readonly [ProblemType, string] {
  const who = isIP(host) === 6 ? `[${host}]` : host
  return [problemTypes[reason] ?? 'connection', `${who} ${sentences[reason]}.`]
}

/** RFC 8555 §8.3: the key authorization is a resource of the host. @throws OutboundError */
async function checkHttp(
  { identifier, token, keyAuthorization }: Proof,
  { http, httpPort }: Ways,
): Promise<Problem | undefined> {
  const { value } = identifier
  const host = isIP(value) === 6 ? `[${value}]` : value
  const port = httpPort === 80 ? '' : `:${httpPort}`
  const { status, body } = await http.get(`http://${host}${port}/.well-known/acme-challenge/${token}`)
  if (status !== 200) return createProblem('incorrectResponse', `${host} responded with status ${status}.`)
  return Buffer.from(body).toString('latin1').trimEnd() === keyAuthorization
    ? undefined
    : createProblem('incorrectResponse', `The response of ${host} is not the key authorization.`)
}
