import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { draftVersion, kmipVersions } from '../tables/versions.ts'
import type { TtlvNode } from '../ttlv/node.ts'
import { nodeOfElement } from '../xml/decode.ts'
import { parseXml } from '../xml/parse.ts'

/** The public test cases: `$WARDER_VECTORS/kmip`, by default in a folder beside the checkout. */
const folder = join(
  process.env.WARDER_VECTORS ?? fileURLToPath(new URL('../../../../shared/vectors', import.meta.url)),
  'kmip',
)

/** One test case: its messages in order, requests and responses in turn. */
export interface VectorFile {
  readonly name: string
  readonly version: string
  readonly messages: readonly TtlvNode[]
}

/** All test cases of versions that are spoken; empty when the folder is not there. */
export function readVectors(): readonly VectorFile[] {
  return textFiles((version) => isSpoken(version)).map(({ name, version, text }) => ({
    name,
    version,
    messages: parseMessages(text),
  }))
}

/** The test cases of KMIP 3.0, which are spoken as a draft; empty when there are none. */
export function readDraftVectors(): readonly VectorFile[] {
  return textFiles((version) => version === draftVersion).map(({ name, version, text }) => ({
    name,
    version,
    messages: parseMessages(text, true),
  }))
}

/** The requests of the test cases of later versions, as XML; empty when there are none. */
export function readUnspokenRequests(): readonly string[] {
  return textFiles((version) => !isSpoken(version)).flatMap(
    ({ text }) => fillIn(text).match(/<RequestMessage>.*?<\/RequestMessage>/gs) ?? [],
  )
}

function isSpoken(version: string): boolean {
  return kmipVersions.some((known) => known === version)
}

function textFiles(wanted: (version: string) => boolean) {
  return folders()
    .filter((name) => wanted(name.slice(1)))
    .flatMap((name) =>
      readdirSync(join(folder, name))
        .filter((file) => file.endsWith('.xml'))
        .sort()
        .map((file) => ({
          name: file.replace('.xml', ''),
          version: name.slice(1),
          text: readFileSync(join(folder, name, file), 'utf8'),
        })),
    )
}

function folders(): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => /^v\d\.\d$/.test(name))
  } catch {
    return []
  }
}

function parseMessages(text: string, draft = false): readonly TtlvNode[] {
  return parseXml(fillIn(text)).children.map((element) => nodeOfElement(element, draft))
}

const now = Date.UTC(2026, 0, 2, 3, 4, 5)

/** Gives the placeholders of the test cases values: dates around a fixed now, identifiers, hex digits. */
function fillIn(text: string): string {
  return text
    .replace(/\$NOW([+-]\d+)?/g, (_all, shift = '0') => new Date(now + Number(shift) * 1000).toISOString())
    .replace(/\$UNIQUE_IDENTIFIER_(\d+)/g, 'uid-$1')
    .replace(
      /type="ByteString" value="\$[A-Z_]+(\d*)"/g,
      (_all, digits: string) => `type="ByteString" value="00ff${digits.padStart(4, '0')}"`,
    )
}
