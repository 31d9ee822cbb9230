import { existsSync, readFileSync } from 'node:fs'
import type { LogKeys } from '../encrypted-bytes.ts'
import { LogReader } from '../reader.ts'
import { listSegmentNumbers } from '../segments.ts'

/** The last record that a target has, and its log: a log that replaces another also begins with 1. */
export interface Position {
  /** Number of the last record that it has. */
  readonly seq: number
  /** Number of the first record of the file that this one is in, and that record's hash. */
  readonly file: number
  readonly hash: string
}

export const startPosition: Position = { seq: 0, file: 0, hash: '' }

/** Reads a position file; an unreadable one means: send everything again from the beginning. */
export function readPosition(path: string): Position {
  try {
    const { seq, file, hash } = JSON.parse(
      existsSync(path) ? readFileSync(path, 'utf8') : '{}',
    ) as Partial<Position>
    if (isNumber(seq) && isNumber(file) && typeof hash === 'string') return { seq, file, hash }
  } catch {
    return startPosition
  }
  return startPosition
}

/** The same position, with its current file. */
export async function findPosition(folder: string, position: Position, keys: LogKeys): Promise<Position> {
  const file = listSegmentNumbers(folder).findLast((firstSeq) => firstSeq <= position.seq)
  if (file === undefined || file === position.file) return position
  return { ...position, file, hash: (await readHash(folder, file, keys)) ?? '' }
}

/** Whether the position is in this log. For a removed file only its number is compared. */
export async function isInLog(folder: string, { file, hash }: Position, keys: LogKeys): Promise<boolean> {
  if (file > (listSegmentNumbers(folder).at(-1) ?? 0)) return false
  const first = await readHash(folder, file, keys)
  return first === undefined || hash === '' || first === hash
}

/** Of the record with this number, if it is still there. */
async function readHash(folder: string, seq: number, keys: LogKeys): Promise<string | undefined> {
  const [record] = await new LogReader(folder, seq - 1, keys).next(1, 1)
  return record?.seq === seq ? record.line.slice(-hashLength - 2, -2) : undefined
}

/** Hexadecimal SHA-256, which a line ends with, before `"}`. */
const hashLength = 64

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
