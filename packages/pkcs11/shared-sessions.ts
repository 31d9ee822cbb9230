import type { MessagePort } from 'node:worker_threads'
import type { Answer } from './connection.ts'
import { type Operation, type Requests, TokenError, type TokenErrorCode, type TokenInfo } from './protocol.ts'
import type { Sessions } from './token-sessions.ts'

/**
 * Sessions of tokens that several threads of a process share: one thread has them, others send their requests to it. So there
 * is one process of the library for all threads, and one attempt with a wrong PIN.
 */
interface Question {
  readonly id: number
  /** Name of the token. */
  readonly token: string
  /** undefined: only connects. */
  readonly op: Operation | undefined
  readonly request: unknown
  readonly parts: readonly Uint8Array[]
}

type Result =
  | {
      readonly id: number
      readonly info: TokenInfo | undefined
      readonly result: unknown
      readonly parts: readonly Uint8Array[]
    }
  | {
      readonly id: number
      readonly code: TokenErrorCode
      readonly sentence: string
      readonly message: string
    }

/** Serves the requests of another thread until the port is closed. @param find sessions by the name of the token */
export function serveSessions(find: (token: string) => Sessions | undefined, port: MessagePort): void {
  port.on('message', (question: Question) => {
    void answer(find(question.token), question).then((result) => {
      for (const part of question.parts) part.fill(0)
      post(port, result)
      if ('parts' in result) for (const part of result.parts) part.fill(0)
    })
  })
}

async function answer(
  sessions: Sessions | undefined,
  { id, token, op, request, parts }: Question,
): Promise<Result> {
  try {
    if (sessions === undefined) throw new TokenError('token_not_found', `there is no token ${token} here`)
    if (op === undefined) {
      await sessions.connect()
      return { id, info: sessions.info, result: undefined, parts: [] }
    }
    const made = await sessions.request(op, request as Requests[typeof op], parts)
    return { id, info: sessions.info, result: made.result, parts: made.parts }
  } catch (error) {
    if (!(error instanceof TokenError)) {
      const message = error instanceof Error ? error.message : String(error)
      return { id, code: 'token_error', sentence: message, message }
    }
    const { code, sentence, message } = error
    return { id, code, sentence, message }
  }
}

/** Sends copies, which are transferred: for a Buffer from Node's pool, `postMessage` would clone the whole pool. */
function post(port: MessagePort, message: Question | Result): void {
  if ('code' in message) {
    port.postMessage(message)
    return
  }
  const parts = message.parts.map((part) => new Uint8Array(part))
  port.postMessage(
    { ...message, parts },
    parts.map(({ buffer }) => buffer),
  )
}

interface SharedAnswer extends Answer {
  readonly info: TokenInfo | undefined
}

type Send = (question: Omit<Question, 'id'>) => Promise<SharedAnswer>

interface Waiting {
  resolve(answer: SharedAnswer): void
  reject(error: TokenError): void
}

/** The client of `serveSessions`. @returns the sessions of a token by its name */
export function connectSessions(port: MessagePort): (token: string) => Sessions {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let isClosed = false
  port.on('message', (result: Result) => {
    const one = waiting.get(result.id)
    waiting.delete(result.id)
    if ('code' in result) one?.reject(toError(result))
    else one?.resolve({ ...result, parts: result.parts.map(toBuffer) })
  })
  port.once('close', () => {
    isClosed = true
    for (const { reject } of waiting.values()) reject(new TokenError('closed', 'the token is closed'))
    waiting.clear()
  })
  port.unref()
  const send: Send = (question) =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new TokenError('closed', 'the token is closed'))
      lastId += 1
      waiting.set(lastId, { resolve, reject })
      post(port, { ...question, id: lastId })
    })
  return (token) => new RemoteSessions(token, send)
}

/** Returns a view of the bytes, not a copy. */
function toBuffer(part: Uint8Array): Buffer {
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength)
}

function toError({ code, sentence, message }: Extract<Result, { code: unknown }>): TokenError {
  const name = message.endsWith(`: ${sentence}`) ? message.slice(0, -sentence.length - 2) : undefined
  return new TokenError(code, sentence, name === undefined ? {} : { token: name })
}

class RemoteSessions implements Sessions {
  readonly #token: string
  readonly #send: Send
  #info: TokenInfo | undefined

  constructor(token: string, send: Send) {
    this.#token = token
    this.#send = send
  }

  get info(): TokenInfo | undefined {
    return this.#info
  }

  error(code: TokenErrorCode, sentence: string): TokenError {
    return new TokenError(code, sentence, { token: `the token ${this.#token}` })
  }

  async connect(): Promise<void> {
    if (this.#info === undefined) await this.#ask(undefined, undefined, [])
  }

  async request<Op extends Operation>(
    op: Op,
    request: Requests[Op],
    parts: readonly Uint8Array[] = [],
  ): Promise<Answer> {
    return this.#ask(op, request, parts)
  }

  async close(): Promise<void> {
    // The thread that has the sessions closes them.
  }

  async #ask(op: Operation | undefined, request: unknown, parts: readonly Uint8Array[]): Promise<Answer> {
    const answer = await this.#send({ token: this.#token, op, request, parts })
    this.#info = answer.info
    return answer
  }
}
