import type { KeyObject } from 'node:crypto'
import type { CipherPlan } from '@warder/crypto'
import type { FailedJob } from './job-thread.ts'

/** Work on large data, for a separate thread. Buffers are transferred, so the sender cannot use them any more. */
export type Job =
  | { readonly type: 'read'; readonly body: Uint8Array; readonly member: string }
  | {
      readonly type: 'seal'
      readonly key: KeyObject
      readonly plan: CipherPlan
      readonly plaintext: Uint8Array
      readonly additional: Uint8Array
      readonly protected: string
      readonly encryptedKey: string
      readonly aad: string | undefined
    }
  | {
      readonly type: 'open'
      readonly key: KeyObject
      readonly plan: CipherPlan
      readonly iv: Uint8Array
      readonly ciphertext: Uint8Array
      readonly tag: Uint8Array
      readonly additional: Uint8Array
      readonly kid: string
    }

/** A JSON body without the text of its large member, and the bytes that the text stood for. */
export interface ReadBody {
  readonly value: unknown
  readonly large: Uint8Array | undefined
}

/** By the type of the job: the decoded data, or the JSON text of the reply. */
export interface Results {
  readonly read: ReadBody
  readonly seal: Uint8Array
  readonly open: Uint8Array
}

export interface ToThread {
  readonly id: number
  readonly job: Job
}

export type FromThread =
  | { readonly id: number; readonly result: ReadBody | Uint8Array }
  | { readonly id: number; readonly failed: FailedJob }
