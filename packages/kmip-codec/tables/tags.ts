import { normaliseName } from './names.ts'
import { Tag, tagAliases } from './tags.gen.ts'
import type { KmipVersion } from './versions.ts'

export type TagName = keyof typeof Tag

const nameByNumber = new Map<number, TagName>()
const numberByName = new Map<string, number>()
const numberByPlainName = new Map<string, number>()
for (const [name, tag] of Object.entries(Tag) as [TagName, number][]) {
  nameByNumber.set(tag, name)
  numberByName.set(name, tag)
  numberByPlainName.set(normaliseName(name), tag)
}
for (const [name, tag] of Object.entries(tagAliases)) numberByPlainName.set(normaliseName(name), tag)

/** Whether only the draft 3.0 has this tag: it follows the last one of 2.1. */
function isDraftTag(tag: number): boolean {
  return tag > Tag.AsynchronousCorrelationValues && tag >>> 16 === 0x42
}

/**
 * The name of a tag of the standard; undefined for extension tags (0x54....) and unknown ones.
 * @param draft with those of the draft 3.0
 */
export function tagName(tag: number, draft = false): TagName | undefined {
  return !draft && isDraftTag(tag) ? undefined : nameByNumber.get(tag)
}

/** Formats a tag for JSON and XML: its name, or `0x54....` if it has none. */
export function tagText(tag: number, draft = false): string {
  return tagName(tag, draft) ?? `0x${tag.toString(16).toUpperCase().padStart(6, '0')}`
}

/**
 * The tag of this name in any spelling, or of `0x42....`; undefined when there is none.
 * @param draft with the names of the draft 3.0
 */
export function tagByName(name: string, draft = false): number | undefined {
  const tag = numberByName.get(name) ?? findPlainName(name)
  const isHidden = tag !== undefined && !draft && isDraftTag(tag)
  if (tag !== undefined && !isHidden) return tag
  return /^0x(42|54)[0-9a-f]{4}$/i.test(name) ? Number.parseInt(name, 16) : undefined
}

function findPlainName(name: string): number | undefined {
  return name.length > 64 ? undefined : numberByPlainName.get(normaliseName(name))
}

/** Whether this is a tag of the standard (0x42....) or an extension (0x54....) (KMIP 2.1 §10.1.1). */
export function isTag(tag: number): boolean {
  const space = tag >>> 16
  return space === 0x42 || space === 0x54
}

/** The last tag of each version; new versions only appended tags. */
const lastTags: readonly (readonly [KmipVersion, number])[] = [
  ['1.0', 0x4200a1],
  ['1.1', 0x4200b7],
  ['1.2', 0x4200d3],
  ['1.3', 0x4200f7],
  ['1.4', 0x420124],
  ['2.0', 0x420165],
  ['2.1', 0x420176],
]

/** The version that introduced a tag. Extension tags exist since 1.0. */
export function tagIntroduced(tag: number): KmipVersion {
  if (tag >>> 16 !== 0x42) return '1.0'
  for (const [version, last] of lastTags) if (tag <= last) return version
  return '3.0'
}
