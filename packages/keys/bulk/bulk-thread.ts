// The thread of large data: JSON, base64url and AES-GCM of megabytes, one job after the other.
import { parentPort } from 'node:worker_threads'
import { parseJsonBody, toFailure } from '@warder/base'
import { decodeBase64Url, decryptSymmetric, encodeBase64Url, encryptSymmetric } from '@warder/crypto'
import type { FromThread, Job, ReadBody, ToThread } from './jobs.ts'

type JobWithType<Type extends Job['type']> = Extract<Job, { type: Type }>

function read({ body, member }: JobWithType<'read'>): ReadBody {
  const value = parseJsonBody(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { value, large: undefined }
  const text = (value as Readonly<Record<string, unknown>>)[member]
  // The schema of the operation refuses it.
  if (typeof text !== 'string') return { value, large: undefined }
  return { value: { ...value, [member]: '' }, large: transferable(decodeBase64Url(text, member)) }
}

function seal(job: JobWithType<'seal'>): Uint8Array {
  const input = { data: job.plaintext, iv: undefined, aad: job.additional }
  const { iv, data: ciphertext, tag } = encryptSymmetric(job.key, job.plan, input)
  job.plaintext.fill(0)
  const before = {
    protected: job.protected,
    encrypted_key: job.encryptedKey,
    iv: encodeBase64Url(iv as Buffer),
  }
  const after = { tag: encodeBase64Url(tag as Buffer), ...(job.aad !== undefined && { aad: job.aad }) }
  return buildReply(before, 'ciphertext', ciphertext, after)
}

function open({ key, plan, iv, ciphertext, tag, additional, kid }: JobWithType<'open'>): Uint8Array {
  const plaintext = decryptSymmetric(key, plan, { data: ciphertext, iv, aad: additional, tag })
  try {
    return buildReply({ kid }, 'data', plaintext, {})
  } finally {
    plaintext.fill(0)
  }
}

/** The JSON text of an object whose member `name` is base64url, between other members. */
function buildReply(before: object, name: string, data: Buffer, after: object): Uint8Array {
  const rest = JSON.stringify(after).slice(1)
  const head = `${JSON.stringify(before).slice(0, -1)},"${name}":"`
  const tail = rest === '}' ? '"}' : `",${rest}`
  const text = encodeBase64Url(data)
  const reply = Buffer.allocUnsafeSlow(Buffer.byteLength(head) + text.length + Buffer.byteLength(tail))
  const start = reply.write(head)
  const end = start + reply.write(text, start, 'latin1')
  reply.write(tail, end)
  return reply
}

/** Small buffers are cut from a pool, which cannot be transferred. */
function transferable(bytes: Buffer): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

function run(job: Job): ReadBody | Uint8Array {
  switch (job.type) {
    case 'read':
      return read(job)
    case 'seal':
      return seal(job)
    case 'open':
      return open(job)
  }
}

parentPort?.on('message', ({ id, job }: ToThread) => {
  const send = (message: FromThread, data?: Uint8Array): void =>
    parentPort?.postMessage(message, data === undefined ? [] : [data.buffer as ArrayBuffer])
  try {
    const result = run(job)
    send({ id, result }, result instanceof Uint8Array ? result : result.large)
  } catch (thrown) {
    const { kind, message, detail } = toFailure(thrown)
    send({ id, failed: { kind, message, detail } })
  }
})
