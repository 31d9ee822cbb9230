import type { MessagePort } from 'node:worker_threads'
import type { AuditConnection } from '@warder/audit'
import type { ClientAuthorities, RevokedCertificates } from '@warder/server'
import type { DatabaseLocation } from './database.ts'
import type { LaunchOfWorker, PlainRootKey } from './launch.ts'

/** Start data of a worker. Everything here is plain data or a port: it crosses a thread boundary. */
export interface WorkerStart {
  readonly index: number
  readonly launch: LaunchOfWorker
  readonly node: string
  readonly port: number
  /** true: several workers listen on the port, and the kernel distributes connections among them. */
  readonly sharePort: boolean
  readonly baseUrl: string
  readonly rootKeys: readonly PlainRootKey[]
  /** Of `watchRootKey`. */
  readonly rootKeyState: SharedArrayBuffer
  readonly tls: TlsMaterial | undefined
  readonly clientAuthorities: ClientAuthorities | undefined
  readonly revoked: RevokedCertificates | undefined
  /** The listener beside HTTPS, its port chosen. */
  readonly socket: SocketStart | undefined
  readonly database: DatabaseLocation
  readonly writer: MessagePort | undefined
  readonly audit: AuditConnection | undefined
  /** Of `ServiceDefinition.share`. */
  readonly shared: MessagePort | undefined
  readonly buckets: SharedArrayBuffer | undefined
  /** Token buckets for rate limits of the service's own. */
  readonly rateMemory: SharedArrayBuffer
  /** Of `Pulse`. */
  readonly pulse: SharedArrayBuffer
}

/** Certificates and keys that the primary has read: all workers use the same ones, and need no file. */
export type TlsMaterial = Readonly<Record<string, unknown>>

/** Start data of the listener beside HTTPS. */
export interface SocketStart {
  readonly host: string
  readonly port: number
  readonly tls: TlsMaterial
}

/** Certificates of both listeners, and which client certificates are revoked. */
export interface TlsMaterials {
  readonly https: TlsMaterial | undefined
  /** Set if the service has authorities of partners. */
  readonly clientAuthorities?: ClientAuthorities | undefined
  readonly socket: TlsMaterial | undefined
  /** undefined = there are no CRLs. */
  readonly revoked: RevokedCertificates | undefined
}

export type ToWorker =
  | { readonly type: 'drain'; readonly timeoutMs: number }
  | { readonly type: 'tls'; readonly tls: TlsMaterials }
  | { readonly type: 'metrics'; readonly id: number }
  /** A worker was added: this share of the connections is to end, so that clients reconnect to it. */
  | { readonly type: 'spread'; readonly share: number }

export type FromWorker =
  /** With the names of its operations; `Pulse` refers to them by index. */
  | { readonly type: 'listening'; readonly port: number; readonly operations: readonly string[] }
  | { readonly type: 'failed'; readonly message: string; readonly startup: boolean }
  | { readonly type: 'drained' }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: unknown }
