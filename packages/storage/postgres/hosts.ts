import type { PostgresAddress, PostgresHost } from './address.ts'
import { getErrorMessage, HostUnsuitable, isTransientError, NoHost } from './connection-errors.ts'
import type { Standing } from './standing-store.ts'

/**
 * The last known primary, for all threads of a process: its database system, and the highest timeline. A primary with a
 * lower timeline is a former primary that came back after a failover; its writes would be lost.
 */
export class PrimaryMemory {
  readonly #values: BigUint64Array

  constructor(memory: SharedArrayBuffer) {
    this.#values = new BigUint64Array(memory)
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * BigUint64Array.BYTES_PER_ELEMENT)
  }

  get timeline(): number {
    return Number(Atomics.load(this.#values, 1))
  }

  /** The reason why this is neither the known primary nor a later one; undefined = it is. */
  findObjection({ system, timeline }: Standing): string | undefined {
    const known = Atomics.load(this.#values, 0)
    if (system !== undefined && known !== 0n && system !== known)
      return `another database system (${system}) than the known one (${known})`
    if (timeline !== undefined && timeline < this.timeline)
      return `on timeline ${timeline}, although timeline ${this.timeline} exists: a former primary`
    return undefined
  }

  /** @returns the previous timeline, if this call raised it */
  learn({ system, timeline }: Standing): number | undefined {
    if (system !== undefined) Atomics.compareExchange(this.#values, 0, 0n, system)
    if (timeline === undefined) return undefined
    for (;;) {
      const known = Atomics.load(this.#values, 1)
      if (BigInt(timeline) <= known) return undefined
      if (Atomics.compareExchange(this.#values, 1, known, BigInt(timeline)) === known)
        return known === 0n ? undefined : Number(known)
    }
  }
}

/** The part of the service's log that is used here. */
export interface HostLog {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

interface HostsOptions {
  readonly address: Pick<PostgresAddress, 'hosts' | 'target'>
  readonly memory: PrimaryMemory
  readonly log: HostLog | undefined
  /** Connects once to read the state. */
  probe(host: PostgresHost): Promise<Standing>
}

/** How long silent hosts are waited for once another host has answered. */
const graceMs = 500

interface Candidate {
  readonly host: PostgresHost
  readonly standing: Standing
}

interface Failure {
  readonly host: PostgresHost
  readonly error: unknown
}

/**
 * Chooses the host of connections. All connections of a process use the chosen host until it fails; then the state of every
 * host is read, and the suitable host with the highest timeline is chosen (docs/adr/postgresql-failover.md).
 */
export class Hosts {
  readonly #options: HostsOptions
  #chosen: PostgresHost | undefined
  #electing: Promise<PostgresHost> | undefined

  constructor(options: HostsOptions) {
    this.#options = options
    const [first] = options.address.hosts
    if (!this.#elects) this.#chosen = first
  }

  /** Whether the state of the host is checked for each connection. */
  get checksStanding(): boolean {
    return this.#options.address.target !== 'any'
  }

  get #elects(): boolean {
    return this.checksStanding && this.#options.address.hosts.length > 1
  }

  /** Maximum attempts of a connection, when the cause may be the host. */
  get attempts(): number {
    const { length } = this.#options.address.hosts
    return this.#elects ? 2 : length
  }

  /** @throws NoHost when no host is suitable */
  async choose(): Promise<PostgresHost> {
    if (this.#chosen !== undefined) return this.#chosen
    this.#electing ??= this.#elect().finally(() => {
      this.#electing = undefined
    })
    return this.#electing
  }

  /** Makes the next connection choose again. */
  markFailed(host: PostgresHost): void {
    if (this.#chosen !== host) return
    const { hosts } = this.#options.address
    this.#chosen = this.#elects ? undefined : hosts[(hosts.indexOf(host) + 1) % hosts.length]
  }

  /** @throws HostUnsuitable when the host does not accept writes */
  admit(host: PostgresHost, standing: Standing): void {
    const objection = this.#objection(standing)
    if (objection !== undefined) throw new HostUnsuitable(`${formatHost(host)} is ${objection}`)
    const before = this.#options.memory.learn(standing)
    if (before === undefined) return
    const fields = { host: formatHost(host), from: before, to: standing.timeline }
    this.#options.log?.warn(fields, 'PostgreSQL failed over: the timeline has changed')
  }

  #objection(standing: Standing): string | undefined {
    if (standing.standby) return 'a standby'
    if (standing.readOnly && this.#options.address.target === 'read-write') return 'read-only'
    return this.#options.memory.findObjection(standing)
  }

  async #elect(): Promise<PostgresHost> {
    const { found, failures } = await this.#probeAll()
    const [best, other] = [...found].sort(
      (one, another) => (another.standing.timeline ?? 0) - (one.standing.timeline ?? 0),
    )
    if (best === undefined) throw toNoHostError(failures)
    if (other !== undefined)
      this.#options.log?.error(
        { used: formatHost(best.host), fence: formatHost(other.host) },
        'two hosts of PostgreSQL accept writes, and writes to the second one will be lost: shut it down',
      )
    this.admit(best.host, best.standing)
    this.#chosen = best.host
    return best.host
  }

  /** Probes all hosts at once. */
  #probeAll(): Promise<{ readonly found: readonly Candidate[]; readonly failures: readonly Failure[] }> {
    const { hosts } = this.#options.address
    return new Promise((resolve) => {
      const found: Candidate[] = []
      const failures: Failure[] = []
      let grace: NodeJS.Timeout | undefined
      const onAnswer = (): void => {
        if (found.length + failures.length === hosts.length) {
          clearTimeout(grace)
          resolve({ found, failures })
        } else if (found.length > 0) grace ??= setTimeout(() => resolve({ found, failures }), graceMs)
      }
      for (const host of hosts)
        this.#probe(host)
          .then(
            (standing) => found.push({ host, standing }),
            (error: unknown) => failures.push({ host, error }),
          )
          .then(onAnswer)
    })
  }

  async #probe(host: PostgresHost): Promise<Standing> {
    const standing = await this.#options.probe(host)
    const objection = this.#objection(standing)
    if (objection !== undefined) throw new HostUnsuitable(objection)
    return standing
  }
}

/** Returns a permanent error (a wrong password, a certificate) unchanged, if there is one. */
function toNoHostError(failures: readonly Failure[]): unknown {
  const lasting = failures.find(({ error }) => !isTransientError(error))
  if (lasting !== undefined) return lasting.error
  const each = failures.map(({ host, error }) => `${formatHost(host)}: ${getErrorMessage(error)}`)
  return new NoHost(`no host accepts writes (${each.join('; ')})`)
}

function formatHost({ host = 'localhost', port }: PostgresHost): string {
  return host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port ?? 5432}`
}
