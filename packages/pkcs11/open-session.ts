import { flags, returnValues } from './constants.ts'
import { type Cryptoki, type NativeMemory, ReturnError } from './cryptoki.ts'
import { type Requests, TokenError, type TokenInfo } from './protocol.ts'

/** More slots or mechanisms are an invalid value. */
const [maxSlots, maxMechanisms] = [1024, 4096]
/** CK_TOKEN_INFO (Base 2.40 §3.2): label, manufacturer, model, serial number, flags, numbers, versions, time. */
const tokenInfoBytes = 208
const userCku = 1n

interface FoundToken {
  readonly slot: bigint
  readonly label: string
  readonly manufacturer: string
  readonly model: string
  readonly serial: string
  readonly flags: number
}

/**
 * Initializes the library, finds the token, opens a session and logs in, all of which may have been done before: a session
 * that the token has closed is opened again in the same way.
 * @param previous session, which is closed
 */
export function openSession(
  library: Cryptoki,
  memory: NativeMemory,
  wanted: Requests['open'],
  pin: Uint8Array,
  previous: bigint | undefined,
): { readonly session: bigint; readonly info: TokenInfo } {
  initialize(library, memory)
  const token = findToken(library, memory, wanted)
  if (previous !== undefined) library.call('C_CloseSession', previous)
  const session = openOn(library, memory, token.slot)
  try {
    if ((token.flags & flags.CKF_LOGIN_REQUIRED) !== 0) login(library, memory, session, token, pin)
    const { label, manufacturer, model, serial } = token
    const list = listMechanisms(library, memory, token.slot)
    return {
      session,
      info: { label, manufacturer, model, serial, slot: Number(token.slot), mechanisms: list },
    }
  } catch (error) {
    library.call('C_CloseSession', session)
    throw error
  }
}

/** CK_C_INITIALIZE_ARGS (Base 2.40 §3.7): no functions for mutexes, those of the system are used. */
function initialize(library: Cryptoki, memory: NativeMemory): void {
  const args = memory.address(memory.putNumbers(0, 0, 0, 0, flags.CKF_OS_LOCKING_OK, 0))
  const value = library.call('C_Initialize', args)
  if (value !== returnValues.CKR_OK && value !== returnValues.CKR_CRYPTOKI_ALREADY_INITIALIZED)
    throw new ReturnError('C_Initialize', value)
}

function findToken(library: Cryptoki, memory: NativeMemory, wanted: Requests['open']): FoundToken {
  if (wanted.slot !== undefined) return readToken(library, memory, BigInt(wanted.slot))
  const tokens = listSlots(library, memory).flatMap((slot) => {
    try {
      return [readToken(library, memory, slot)]
    } catch (error) {
      // A slot without a usable token is not the one that is looked for.
      if (error instanceof ReturnError) return []
      throw error
    }
  })
  const found = tokens.filter(({ label }) => label === wanted.label)
  const [first] = found
  if (first === undefined) {
    const labels = tokens.filter(({ label }) => label !== '').map(({ label }) => JSON.stringify(label))
    const there = labels.length === 0 ? 'it has none' : `it has ${labels.slice(0, 8).join(', ')}`
    throw new TokenError('token_not_found', `the library has no such token: ${there}`)
  }
  if (found.length > 1)
    throw new TokenError(
      'token_not_found',
      `several tokens have this label: name the slot, one of ${found.map(({ slot }) => slot).join(', ')}`,
    )
  return first
}

/** Slots with a token. A library searches for new ones in the first call, for their number (Base 2.40 §5.5). */
function listSlots(library: Cryptoki, memory: NativeMemory): readonly bigint[] {
  return readList(memory, maxSlots, (list, count) => library.invoke('C_GetSlotList', 1n, list, count))
}

/** Calls a function that writes a list twice: for the length of the list, then for the list. */
function readList(
  memory: NativeMemory,
  max: number,
  read: (list: bigint, count: bigint) => void,
): readonly bigint[] {
  const countAt = memory.putNumbers(0)
  read(0n, memory.address(countAt))
  const listAt = memory.reserve(8 * memory.length(countAt, max))
  const room = memory.length(countAt, max)
  read(memory.address(listAt), memory.address(countAt))
  return Array.from({ length: memory.length(countAt, room) }, (_, index) => memory.number(listAt + 8 * index))
}

function readToken(library: Cryptoki, memory: NativeMemory, slot: bigint): FoundToken {
  const at = memory.reserve(tokenInfoBytes)
  library.invoke('C_GetTokenInfo', slot, memory.address(at))
  const text = (offset: number, length: number): string =>
    // Padded with blanks; some libraries end them as strings of C.
    memory
      .bytes(at + offset, length)
      .toString('utf8')
      .split('\0', 1)[0]
      ?.trimEnd() ?? ''
  const [label, manufacturer, model, serial] = [text(0, 32), text(32, 32), text(64, 16), text(80, 16)]
  return { slot, label, manufacturer, model, serial, flags: memory.bytes(at + 96, 8).readUInt32LE(0) }
}

function openOn(library: Cryptoki, memory: NativeMemory, slot: bigint): bigint {
  const at = memory.putNumbers(0)
  const open = (kind: number): number =>
    library.call('C_OpenSession', slot, BigInt(kind), 0n, 0n, memory.address(at))
  let value = open(flags.CKF_SERIAL_SESSION | flags.CKF_RW_SESSION)
  if (value === returnValues.CKR_TOKEN_WRITE_PROTECTED) value = open(flags.CKF_SERIAL_SESSION)
  if (value !== returnValues.CKR_OK) throw new ReturnError('C_OpenSession', value)
  return memory.number(at)
}

/** A login counts for all sessions of the process. @throws TokenError before a PIN that could lock the token is tried */
function login(
  library: Cryptoki,
  memory: NativeMemory,
  session: bigint,
  token: FoundToken,
  pin: Uint8Array,
): void {
  const refuse = (reason: string): never => {
    throw new TokenError('login_refused', `the login is refused: ${reason}`)
  }
  if ((token.flags & flags.CKF_USER_PIN_LOCKED) !== 0)
    refuse('its PIN is locked; its security officer can set a new one')
  if ((token.flags & flags.CKF_USER_PIN_FINAL_TRY) !== 0)
    refuse(
      'one attempt is left before its PIN is locked; log in once with a tool of its vendor, and correct the PIN file',
    )
  const value = library.call('C_Login', session, userCku, memory.addressOrNull(pin), BigInt(pin.length))
  if (value !== returnValues.CKR_OK && value !== returnValues.CKR_USER_ALREADY_LOGGED_IN)
    throw new ReturnError('C_Login', value)
}

function listMechanisms(library: Cryptoki, memory: NativeMemory, slot: bigint): readonly number[] {
  return readList(memory, maxMechanisms, (list, count) =>
    library.invoke('C_GetMechanismList', slot, list, count),
  ).map(Number)
}
