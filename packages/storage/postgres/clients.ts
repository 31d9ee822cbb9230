import { isAbsolute, join } from 'node:path'
import pg from 'pg'
import type { PostgresAddress, PostgresHost } from './address.ts'
import { isTransientError, NoHost } from './connection-errors.ts'
import { type HostLog, Hosts, PrimaryMemory } from './hosts.ts'
import { type PasswordSources, readPassword } from './password.ts'
import { readStanding, type Standing } from './standing-store.ts'
import { readTls } from './tls.ts'

export interface ClientsOptions {
  readonly address: PostgresAddress
  /** Absolute; see `PasswordSources`. */
  readonly passwordFile: string | undefined
  /** Base folder of relative paths in the address; undefined = the working directory. */
  readonly folder: string | undefined
  /** Of `PrimaryMemory`, shared by the threads of a process. */
  readonly memory: SharedArrayBuffer | undefined
  /** Time limit for a host to answer. */
  readonly connectTimeoutMs: number
  /** Options shared by all connections: time limits, parsers. */
  readonly config: pg.ClientConfig
  readonly log: HostLog | undefined
}

export interface ClientKind {
  /** Statements are sent without waiting for earlier answers. */
  readonly pipeline?: boolean
}

/** Connects to a database on the host that accepts writes. */
export interface PostgresClients {
  /** The class for `pg.Pool`. After a failed connection, the next one tries another host. */
  readonly Client: new (
    kind?: ClientKind,
  ) => pg.Client
  /** Retries while another host may work. @throws the last error */
  retry<R>(connect: () => Promise<R>): Promise<R>
  /** Whether a connection goes to the former primary of a failover. */
  isOutdated(client: pg.ClientBase): boolean
}

/** @throws StartupError at a connection, for files that cannot be used */
export function createPostgresClients(options: ClientsOptions): PostgresClients {
  const memory = new PrimaryMemory(options.memory ?? PrimaryMemory.memory())
  const source = toConnectionSource(options)
  const hosts = new Hosts({
    address: options.address,
    memory,
    log: options.log,
    probe: (host) => new Probe(source, host).readStanding(host),
  })
  return {
    Client: class extends HostClient {
      constructor(kind?: ClientKind) {
        super(source, hosts, kind)
      }
    },
    async retry(connect) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await connect()
        } catch (error) {
          if (attempt >= hosts.attempts || error instanceof NoHost || !isTransientError(error)) throw error
        }
      }
    },
    isOutdated: (client) =>
      client instanceof HostClient && client.timeline !== undefined && client.timeline < memory.timeline,
  }
}

/** Parameters of each connection. */
interface ConnectionSource {
  readonly config: pg.ClientConfig
  readonly ssl: PostgresAddress['ssl']
  readonly passwords: PasswordSources
  /** The path of a file that the address names. */
  readonly toAbsolute: (path: string) => string
}

function toConnectionSource(options: ClientsOptions): ConnectionSource {
  const { address, folder } = options
  const { verify, direct } = address.ssl
  const toAbsolute = (path: string): string =>
    folder === undefined || isAbsolute(path) ? path : join(folder, path)
  return {
    config: {
      ...options.config,
      user: address.user,
      database: address.database,
      connectionTimeoutMillis: options.connectTimeoutMs,
      ...(address.options && { options: address.options }),
      ...(address.applicationName && { application_name: address.applicationName }),
      // The files are read at each connection; this only decides whether TLS is used.
      ...(verify && { ssl: verify === 'plain' ? false : {} }),
      ...(direct && { sslnegotiation: 'direct' }),
    },
    ssl: address.ssl,
    passwords: {
      file: options.passwordFile,
      given: address.password,
      passfile: address.passfile && toAbsolute(address.passfile),
      env: process.env,
    },
    toAbsolute,
  }
}

/** A connection to one host, with certificates and password as they are now. */
class FreshClient extends pg.Client {
  readonly #source: ConnectionSource

  constructor(source: ConnectionSource, host?: PostgresHost, more: pg.ClientConfig = {}) {
    super({ ...source.config, ...more, ...toHostAndPort(host), password: () => this.#password() as string })
    this.#source = source
  }

  /** undefined = there is no password; the server reports that it requires one. */
  #password(): string | undefined {
    const { host, port, database = '', user = '' } = this
    return readPassword(this.#source.passwords, { host, port, database, user })
  }

  protected async open(host: PostgresHost): Promise<void> {
    Object.assign(this, toHostAndPort(host))
    const { ssl, toAbsolute } = this.#source
    const tls = readTls(ssl, this.host, toAbsolute)
    if (tls) Object.assign(this.connection, { ssl: tls })
    await super.connect()
  }
}

class Probe extends FreshClient {
  async readStanding(host: PostgresHost): Promise<Standing> {
    this.on('error', () => undefined)
    try {
      await this.open(host)
      return await readStanding(this)
    } finally {
      void this.end().catch(() => undefined)
    }
  }
}

/** A connection to the host that accepts writes. */
class HostClient extends FreshClient {
  timeline: number | undefined
  readonly #hosts: Hosts

  /** A pool passes all of its settings. */
  constructor(source: ConnectionSource, hosts: Hosts, { pipeline = false }: ClientKind = {}) {
    super(source, undefined, { pipeline } as pg.ClientConfig)
    this.#hosts = hosts
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error | null, client?: pg.Client) => void): void
  override connect(
    callback?: (error: Error | null, client?: pg.Client) => void,
  ): Promise<pg.Client> | undefined {
    const connecting = this.#connect()
    if (callback === undefined) return connecting
    connecting.then(
      () => callback(null, this),
      (error: Error) => callback(error),
    )
    return undefined
  }

  async #connect(): Promise<pg.Client> {
    const hosts = this.#hosts
    const host = await hosts.choose()
    try {
      await this.open(host)
      if (hosts.checksStanding) {
        const standing = await readStanding(this)
        hosts.admit(host, standing)
        this.timeline = standing.timeline
      }
      return this
    } catch (error) {
      hosts.markFailed(host)
      void this.end().catch(() => undefined)
      throw error
    }
  }
}

function toHostAndPort(place: PostgresHost | undefined): { readonly host?: string; readonly port?: number } {
  return {
    ...(place?.host !== undefined && { host: place.host }),
    ...(place?.port !== undefined && { port: place.port }),
  }
}
