import { isIP } from 'node:net'
import { KeyedLimiter } from '@warder/base'
import {
  createPlainFetch,
  createTlsProbe,
  type OutboundCode,
  OutboundError,
  type Resolve,
  systemResolve,
} from '@warder/outbound'
import { acmeProblem, createProblem, type Problem, type ProblemType } from '../protocol/problem.ts'
import type { ChallengeType } from '../stored/challenge.ts'
import { type CaaQuestion, type CaaRecord, checkCaa } from './caa.ts'
import { createResolver, dnsResolve } from './dns.ts'
import { checkDns } from './dns-01.ts'
import type { Proof, Ways } from './proof.ts'
import { checkTls } from './tls-alpn-01.ts'

export interface ProbeSettings {
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
  const common = { allowPrivateNetworks, privateNetworksSetting, timeoutMs, resolve }
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
