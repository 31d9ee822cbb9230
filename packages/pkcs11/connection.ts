import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { endianness } from 'node:os'
import { fileURLToPath } from 'node:url'
import { formatReturnValue, type ReturnValue, returnValues } from './constants.ts'
import {
  encodeFrame,
  type Frame,
  FrameReader,
  type Reply,
  type Request,
  TokenError,
  type TokenErrorCode,
  tokenErrorCodes,
} from './protocol.ts'

const entry = fileURLToPath(new URL('./token-process.ts', import.meta.url))

/** node:ffi is experimental in Node 26, which warns about it. A debugger of the service does not stop this process. */
const nodeFlags = ['--experimental-ffi', '--disable-warning=ExperimentalWarning', '--disable-sigusr1']
/** Secrets of the service, and options that would start a second debugger. */
const withheldVariables = /^(?:WARDER|AUTH|KMS)_|^NODE_OPTIONS$/

/** Requests on a lane: one that is performed, the others wait for it in the pipe, and are read at once. */
export const maxPerLane = 8
/** Bytes of the standard error of the library that are kept: enough for its last messages. */
const maxErrorOutput = 500
/** A process that was asked to end is killed after that. */
const endWithinMs = 3_000
const lastWordsWithinMs = 500

export interface ProcessOptions {
  readonly library: string
  readonly lanes: number
  readonly env: NodeJS.ProcessEnv
  /** Names the token in errors. */
  readonly name: string
  /** Called once, when it cannot be used any more. */
  readonly onFailure: (failure: TokenError) => void
}

export interface Answer {
  readonly result: unknown
  readonly parts: readonly Buffer[]
}

interface Pending {
  readonly id: number
  readonly timeoutMs: number
  resolve(answer: Answer): void
  reject(error: TokenError): void
}

/** With a CK_ULONG of 8 bytes. */
const architectures = ['x64', 'arm64', 'ppc64', 'riscv64', 'loong64']

/**
 * On Windows structures are packed and `unsigned long` has 4 bytes (Base 2.40 §2 and §3).
 * @throws TokenError if the structures of this package are not those of the platform
 */
export function requirePlatform(platform: string = process.platform, arch: string = process.arch): void {
  if (platform === 'win32')
    throw new TokenError('library_unusable', 'PKCS#11 tokens can be used on Linux and macOS, not on Windows')
  if (!architectures.includes(arch) || endianness() !== 'LE')
    throw new TokenError('library_unusable', `PKCS#11 tokens cannot be used on the architecture ${arch}`)
}

/** The process that has loaded the library. It is used until it fails, then another one is started. */
export class TokenProcess {
  readonly lanes: readonly Lane[]
  readonly gone: Promise<void>
  readonly #child: ChildProcess
  readonly #name: string
  readonly #onFailure: (failure: TokenError) => void
  #failure: TokenError | undefined
  #errorOutput = ''

  constructor({ library, lanes, env, name, onFailure }: ProcessOptions) {
    this.#name = name
    this.#onFailure = onFailure
    const kept = Object.entries(env).filter(([variable]) => !withheldVariables.test(variable))
    const pipes = Array.from({ length: lanes }, () => 'pipe' as const)
    this.#child = spawn(process.execPath, [...nodeFlags, entry, String(lanes), library], {
      env: Object.fromEntries(kept),
      stdio: ['pipe', 'ignore', 'pipe', ...pipes],
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#errorOutput = (this.#errorOutput + chunk.toString('utf8')).slice(-maxErrorOutput)
    })
    this.#child.stdin?.on('error', () => undefined)
    this.gone = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.fail('library_failed', `the process of the library ended (${signal ?? `code ${code}`})`)
        // Its last output may still arrive; a process that the library started may keep the pipe open.
        this.#child.once('close', resolve)
        setTimeout(resolve, lastWordsWithinMs).unref()
      })
      this.#child.once('error', (error) => {
        this.fail('library_failed', `the process of the library cannot be started: ${error.message}`)
        if (this.#child.pid === undefined) resolve()
      })
    })
    this.lanes = pipes.map((_, index) => new Lane(this.#child.stdio[3 + index] as Socket, this))
  }

  /** Why it cannot be used any more. */
  get failure(): TokenError | undefined {
    return this.#failure
  }

  /** The last output of the library on standard error, for the log. */
  get errorOutput(): string {
    return this.#errorOutput
  }

  error(code: TokenErrorCode, sentence: string, returnValue?: number): TokenError {
    return new TokenError(code, sentence, {
      token: this.#name,
      ...(returnValue !== undefined && { returnValue }),
    })
  }

  /** Ends the process at once, and with it running operations. */
  fail(code: TokenErrorCode, sentence: string): void {
    if (this.#failure !== undefined) return
    this.#failure = this.error(code, sentence)
    this.#onFailure(this.#failure)
    this.#child.kill('SIGKILL')
    for (const lane of this.lanes) lane.reject(this.#failure)
  }

  /** Lets the process finish running operations, and close its sessions. */
  async close(): Promise<void> {
    this.#failure ??= this.error('closed', 'it is closed')
    for (const lane of this.lanes) lane.end()
    this.#child.stdin?.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), endWithinMs)
    await this.gone
    clearTimeout(timer)
    for (const lane of this.lanes) lane.reject(this.#failure)
  }
}

/** One session: its requests are answered in their order. */
export class Lane {
  /** Whether its session is open and may be used. */
  isOpen = false
  readonly #socket: Socket
  readonly #process: TokenProcess
  readonly #reader = new FrameReader()
  readonly #pending: Pending[] = []
  #timer: NodeJS.Timeout | undefined
  #lastId = 0

  constructor(socket: Socket, process: TokenProcess) {
    this.#socket = socket
    this.#process = process
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      // If the process has ended, that is the better reason.
      const fail = (): void => process.fail('library_failed', 'a session of the library ended by itself')
      setTimeout(fail, lastWordsWithinMs).unref()
    })
  }

  get pending(): number {
    return this.#pending.length
  }

  /** @throws TokenError also when the process fails meanwhile */
  send(request: Request, parts: readonly Uint8Array[], timeoutMs: number): Promise<Answer> {
    const { failure } = this.#process
    if (failure !== undefined) return Promise.reject(failure)
    this.#lastId = (this.#lastId + 1) >>> 0
    const id = this.#lastId
    const frame = encodeFrame(id, request, parts)
    return new Promise((resolve, reject) => {
      this.#pending.push({ id, timeoutMs, resolve, reject })
      if (this.#pending.length === 1) this.#watch()
      this.#socket.write(frame, () => frame.fill(0))
    })
  }

  reject(error: TokenError): void {
    clearTimeout(this.#timer)
    for (const { reject } of this.#pending.splice(0)) reject(error)
    this.#socket.destroy()
  }

  end(): void {
    this.#socket.end()
  }

  /** The time of a request begins when it is the first of its lane. */
  #watch(): void {
    clearTimeout(this.#timer)
    const [first] = this.#pending
    if (first === undefined) return
    const { timeoutMs } = first
    this.#timer = setTimeout(() => {
      this.#process.fail('library_failed', `the library has not responded for ${timeoutMs / 1000} s`)
    }, timeoutMs)
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#settle(frame)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#process.fail('library_failed', `the process of the library sent a malformed reply: ${reason}`)
    }
  }

  #settle({ id, header, parts }: Frame): void {
    const first = this.#pending[0]
    if (first === undefined || first.id !== id) throw new Error('a reply to no request')
    const reply = toAnswer(header, parts, this.#process)
    this.#pending.shift()
    this.#watch()
    if (!(reply instanceof TokenError)) first.resolve(reply)
    else {
      first.reject(reply)
      // After an invalid value the memory of its process is not trusted.
      if (reply.code === 'library_failed')
        this.#process.fail(reply.code, 'the library returned an invalid value')
    }
  }
}

/** @throws Error for a reply of no kind */
function toAnswer(header: unknown, parts: readonly Buffer[], process: TokenProcess): Answer | TokenError {
  if (typeof header !== 'object' || header === null) throw new Error('a reply of no kind')
  const reply = header as Reply
  if ('result' in reply) return { result: reply.result, parts }
  if ('returnValue' in reply) {
    const { returnValue, functionName } = reply
    if (typeof returnValue !== 'number') throw new Error('a return value that is no number')
    const sentence = `${functionName}: ${formatReturnValue(returnValue)}`
    return process.error(toErrorCode(returnValue, functionName), sentence, returnValue)
  }
  if (typeof reply.sentence !== 'string' || !tokenErrorCodes.includes(reply.code))
    throw new Error('an error of no kind')
  return process.error(reply.code, reply.sentence)
}

/** The operation was not executed: the session or the login is gone, or the session is in an unknown state. */
const lostSession: readonly ReturnValue[] = [
  ...(['CKR_SESSION_HANDLE_INVALID', 'CKR_SESSION_CLOSED', 'CKR_USER_NOT_LOGGED_IN'] as const),
  ...(['CKR_DEVICE_REMOVED', 'CKR_TOKEN_NOT_PRESENT', 'CKR_TOKEN_NOT_RECOGNIZED'] as const),
  ...(['CKR_SLOT_ID_INVALID', 'CKR_CRYPTOKI_NOT_INITIALIZED', 'CKR_OPERATION_ACTIVE'] as const),
]

const codes: Readonly<Partial<Record<TokenErrorCode, readonly ReturnValue[]>>> = {
  token_unavailable: [
    ...lostSession,
    ...(['CKR_HOST_MEMORY', 'CKR_GENERAL_ERROR', 'CKR_FUNCTION_FAILED', 'CKR_DEVICE_ERROR'] as const),
    ...(['CKR_DEVICE_MEMORY', 'CKR_SESSION_COUNT', 'CKR_BUFFER_TOO_SMALL'] as const),
    ...(['CKR_OPERATION_NOT_INITIALIZED', 'CKR_CANT_LOCK'] as const),
  ],
  login_refused: [
    ...(['CKR_PIN_INCORRECT', 'CKR_PIN_INVALID', 'CKR_PIN_LEN_RANGE', 'CKR_PIN_EXPIRED'] as const),
    ...(['CKR_PIN_LOCKED', 'CKR_USER_PIN_NOT_INITIALIZED', 'CKR_USER_TYPE_INVALID'] as const),
  ],
  invalid_data: [
    ...(['CKR_ENCRYPTED_DATA_INVALID', 'CKR_ENCRYPTED_DATA_LEN_RANGE', 'CKR_DATA_INVALID'] as const),
    ...(['CKR_DATA_LEN_RANGE', 'CKR_WRAPPED_KEY_INVALID', 'CKR_WRAPPED_KEY_LEN_RANGE'] as const),
  ],
  not_supported: [
    ...(['CKR_MECHANISM_INVALID', 'CKR_MECHANISM_PARAM_INVALID', 'CKR_FUNCTION_NOT_SUPPORTED'] as const),
    ...(['CKR_KEY_FUNCTION_NOT_PERMITTED', 'CKR_KEY_TYPE_INCONSISTENT', 'CKR_KEY_SIZE_RANGE'] as const),
    ...(['CKR_KEY_UNEXTRACTABLE', 'CKR_KEY_NOT_WRAPPABLE', 'CKR_CURVE_NOT_SUPPORTED'] as const),
    ...(['CKR_WRAPPING_KEY_TYPE_INCONSISTENT', 'CKR_WRAPPING_KEY_SIZE_RANGE'] as const),
    ...(['CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT', 'CKR_UNWRAPPING_KEY_SIZE_RANGE'] as const),
    ...(['CKR_DOMAIN_PARAMS_INVALID', 'CKR_TEMPLATE_INCONSISTENT', 'CKR_TEMPLATE_INCOMPLETE'] as const),
    ...(['CKR_ATTRIBUTE_VALUE_INVALID', 'CKR_ATTRIBUTE_TYPE_INVALID', 'CKR_ACTION_PROHIBITED'] as const),
    ...(['CKR_SESSION_READ_ONLY', 'CKR_TOKEN_WRITE_PROTECTED', 'CKR_ATTRIBUTE_SENSITIVE'] as const),
  ],
}

/**
 * Some libraries return CKR_GENERAL_ERROR for a ciphertext that does not verify (SoftHSM 2.6), as for their own
 * failures.
 */
const rejecting: readonly string[] = ['C_Decrypt', 'C_UnwrapKey']

const codeByValue = new Map<number, TokenErrorCode>(
  Object.entries(codes).flatMap(([code, names]) =>
    names.map((name) => [returnValues[name], code as TokenErrorCode] as const),
  ),
)

function toErrorCode(returnValue: number, functionName: string): TokenErrorCode {
  if (returnValue === returnValues.CKR_GENERAL_ERROR && rejecting.includes(functionName))
    return 'invalid_data'
  return codeByValue.get(returnValue) ?? 'token_error'
}

const lostValues = new Set<number>(lostSession.map((name) => returnValues[name]))

/**
 * Whether the request is sent again once the session is open again: it was lost, or the cause of the failure is
 * unclear.
 */
export function isLostSession(error: unknown): boolean {
  if (!(error instanceof TokenError) || error.returnValue === undefined) return false
  const isUnclear = error.returnValue === returnValues.CKR_GENERAL_ERROR && error.code === 'invalid_data'
  return lostValues.has(error.returnValue) || isUnclear
}
