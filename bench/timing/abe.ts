import {
  createMasterKey,
  createUserKey,
  derivePublicKey,
  encryptionRights,
  parsePolicy,
  structureFromJson,
  type UserKey,
  userRights,
} from '@warder/covercrypt'
import { decapsulate, encapsulate } from '@warder/covercrypt/testing'
import { median } from '../median.ts'

/**
 * Times decapsulations that open by the first and by the last right of a user key beside those that open by none, and
 * of an encapsulation with a wrong tag: the time must not disclose which right could decrypt, nor whether one could.
 * Prints the median of each in processor time and how far it is from the first, with a second run of the same as the
 * measure of noise.
 *
 * Run: `node bench/timing/abe.ts [rounds]`
 */
const rounds = Number(process.argv[2] ?? 300)
const names = Array.from({ length: 30 }, (_, index) => `n${index}`)
const master = createMasterKey(structureFromJson({ A: names }))
const listRights = (policy: string) => userRights(master.structure, parsePolicy(policy))
const all = createUserKey(master, listRights('*')).userKey
const held = [...all.rights.keys()].filter((right) => right !== '')
const [first, last] = [held[0] ?? '', held.at(-1) ?? '']
const others = new Map([...all.rights].filter(([right]) => right !== first && right !== last))
// As many rights, and none of those that are asked for.
const none: UserKey = {
  ...all,
  rights: new Map([...others, ['fe01', others.get('') ?? []], ['ff01', others.get('') ?? []]]),
}
const published = derivePublicKey(master)
const broadcast = encryptionRights(master.structure, parsePolicy('*'))
const toFirst = encapsulate(published, [first]).encapsulation
const cases: Readonly<Record<string, () => unknown>> = {
  'opened by the first right': () => decapsulate(all, toFirst),
  'the same again (noise)': () => decapsulate(all, toFirst),
  'opened by the last right': (() => {
    const { encapsulation } = encapsulate(published, [last])
    return () => decapsulate(all, encapsulation)
  })(),
  'opened by the broadcast right': (() => {
    const { encapsulation } = encapsulate(published, broadcast)
    return () => decapsulate(none, encapsulation)
  })(),
  'opened by none': () => decapsulate(none, toFirst),
  'wrong tag': () => decapsulate(all, { ...toFirst, tag: Buffer.alloc(16) }),
}
const times = new Map<string, number[]>(Object.keys(cases).map((name) => [name, []]))
for (let round = -20; round < rounds; round++) {
  for (const [name, act] of Object.entries(cases).toSorted(() => Math.random() - 0.5)) {
    const before = process.cpuUsage()
    try {
      act()
    } catch {
      // Those that do not open.
    }
    const { user, system } = process.cpuUsage(before)
    if (round >= 0) times.get(name)?.push(user + system)
  }
}
const reference = median(times.get('opened by the first right') ?? [])
process.stdout.write(`${rounds} rounds, ${all.rights.size} rights, microseconds\n`)
for (const [name, list] of times) {
  const middle = median(list)
  process.stdout.write(
    `  ${name.padEnd(28)} ${middle.toFixed(0).padStart(8)} ${(middle - reference).toFixed(0).padStart(8)}\n`,
  )
}
