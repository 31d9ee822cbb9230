// The process that has the library. Descriptor 3 and those after it are its lanes, one session each: a thread reads a
// request from its lane, performs it and writes the reply. A crash ends this process alone; it ends with its parent.

import { readSync, writeSync } from 'node:fs'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { Cryptoki, NativeMemory, ReturnError } from './cryptoki.ts'
import { createHandles, type OpenToken } from './objects.ts'
import { openSession } from './open-session.ts'
import { type Outcome, operations } from './operations.ts'
import { encodeFrame, type Frame, FrameReader, type Reply, type Request, TokenError } from './protocol.ts'

const firstLane = 3
/** For calls of the library that are under way when the parent ends. */
const graceMs = 5_000
/** When a reply is older, it is sent before the next request of its group is performed. */
const maxHoldMs = 0.5

/** State of a lane: the library once it is loaded, the session once it is open. */
interface Lane {
  readonly path: string
  readonly memory: NativeMemory
  library?: Cryptoki
  token?: OpenToken
}

function perform(lane: Lane, request: Request, parts: readonly Buffer[]): Outcome {
  if (request.op === 'open') {
    lane.library ??= new Cryptoki(lane.path)
    const { library, memory } = lane
    const previous = lane.token?.session
    delete lane.token
    const { session, info } = openSession(library, memory, request, parts[0] ?? Buffer.alloc(0), previous)
    lane.token = { library, memory, session, handles: createHandles() }
    return { result: info }
  }
  if (lane.token === undefined) throw new TokenError('token_unavailable', 'no session is open')
  const operation = operations[request.op] as (
    token: OpenToken,
    request: Request,
    parts: readonly Buffer[],
  ) => Outcome
  return operation(lane.token, request, parts)
}

function toReply(error: unknown): Reply {
  if (error instanceof ReturnError) return { returnValue: error.value, functionName: error.functionName }
  if (error instanceof TokenError) return { code: error.code, sentence: error.message }
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { code: 'library_failed', sentence: `the process of the PKCS#11 library failed: ${reason}` }
}

/** Serves a lane until the parent closes it. Replies to requests that came together go together. */
function serve(descriptor: number, path: string): void {
  const lane: Lane = { path, memory: new NativeMemory() }
  const reader = new FrameReader()
  const chunk = Buffer.alloc(64 * 1024)
  for (;;) {
    const length = readSync(descriptor, chunk)
    if (length === 0) return
    const frames = reader.push(chunk.subarray(0, length))
    let replies: Buffer[] = []
    let heldSince = performance.now()
    for (const frame of frames) {
      replies.push(answer(lane, frame))
      if (performance.now() - heldSince < maxHoldMs && frame !== frames.at(-1)) continue
      writeAll(descriptor, replies)
      replies = []
      heldSince = performance.now()
    }
    chunk.fill(0, 0, length)
  }
}

function answer(lane: Lane, { id, header, parts }: Frame): Buffer {
  try {
    const { result = null, parts: made = [] } = perform(lane, header as Request, parts)
    const reply = encodeFrame(id, { result }, made)
    for (const part of made) part.fill(0)
    return reply
  } catch (error) {
    return encodeFrame(id, toReply(error))
  } finally {
    lane.memory.wipe()
    for (const part of parts) part.fill(0)
  }
}

function writeAll(descriptor: number, replies: readonly Buffer[]): void {
  const [first = Buffer.alloc(0)] = replies
  const bytes = replies.length === 1 ? first : Buffer.concat(replies)
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  for (const reply of replies) reply.fill(0)
  bytes.fill(0)
}

/** Starts the lanes, and ends the library when all have ended. */
function main(lanes: number, path: string): void {
  // Signals of a terminal are for the parent.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.stdin.resume()
  process.stdin.once('end', () => setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceMs).unref())
  let running = lanes
  for (let index = 0; index < lanes; index += 1) {
    const thread = new Worker(new URL('./token-process.ts', import.meta.url), {
      name: `pkcs11 session ${index}`,
      workerData: [firstLane + index, path],
    })
    // The parent sees that the lane is closed.
    thread.on('error', () => undefined)
    thread.once('exit', () => {
      running -= 1
      if (running === 0) finish(path)
    })
  }
}

function finish(path: string): void {
  try {
    new Cryptoki(path).call('C_Finalize', 0n)
  } finally {
    process.exit()
  }
}

if (isMainThread) main(Number(process.argv[2]), process.argv[3] ?? '')
else serve(...(workerData as [number, string]))
