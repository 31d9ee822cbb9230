import type { MessagePort } from 'node:worker_threads'

/** What a worker is started with. Everything here is plain data or a port: it crosses a thread boundary. */
export interface WorkerStart {
  readonly module: string
  readonly exportName: string
  readonly config: Readonly<Record<string, unknown>>
  readonly home: string
  readonly node: string
  readonly version: string
  readonly host: string
  readonly port: number
  readonly sharePort: boolean
  readonly baseUrl: string
  readonly rootKey: Uint8Array
  readonly tls: TlsMaterial | undefined
  readonly databaseUrl: string
  readonly writer: MessagePort | undefined
  readonly audit: MessagePort
  readonly buckets: SharedArrayBuffer | undefined
  readonly index: number
}

/** Certificates and keys as read by the primary, so that a worker needs no file and all workers serve the same. */
export type TlsMaterial = Readonly<Record<string, unknown>>

export type ToWorker =
  | { readonly type: 'drain'; readonly timeoutMs: number }
  | { readonly type: 'tls'; readonly tls: TlsMaterial }
  | { readonly type: 'metrics'; readonly id: number }

export type FromWorker =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'failed'; readonly message: string; readonly startup: boolean }
  | { readonly type: 'drained' }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: unknown }
