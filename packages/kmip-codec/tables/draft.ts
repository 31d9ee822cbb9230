import type { Enumeration } from './enumerations.gen.ts'

/** Names and numbers of KMIP 3.0 (committee draft), which messages of other versions can neither name nor contain. */

/** Whether only 3.0 has this item type: Identifier, Reference, NameReference. */
export function isDraftType(type: string): boolean {
  return type === 'Identifier' || type === 'Reference' || type === 'NameReference'
}

/** The values of 3.0 in each enumeration: they follow those of 2.1. */
const draftValues: Readonly<
  Partial<Record<keyof typeof Enumeration, readonly [first: number, last: number]>>
> = {
  CredentialType: [0x07, 0x08],
  Ephemeral: [0x01, 0x03],
  ItemType: [0x0c, 0x0e],
  ObjectType: [0x0b, 0x10],
  Operation: [0x3c, 0x40],
  QueryFunction: [0x0f, 0x0f],
  ResultReason: [0x4d, 0x4d],
  UniqueIdentifier: [0x12, 0x15],
}

/** The object types that only 3.0 has. */
export type DraftObjectType = Extract<
  keyof (typeof Enumeration)['ObjectType'],
  'User' | 'Group' | `${string}Credential`
>

/** Whether only 3.0 has this value. */
export function isDraftValue(enumeration: keyof typeof Enumeration, value: number): boolean {
  const range = draftValues[enumeration]
  return range !== undefined && value >= range[0] && value <= range[1]
}
