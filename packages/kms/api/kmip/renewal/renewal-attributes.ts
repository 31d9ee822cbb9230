import { Tag } from '@warder/kmip/tables'
import { boolean, interval } from '@warder/kmip/ttlv'
import type { RenewalAttributes } from '../../../authority/index.ts'
import { renewalDueAt, renewalInterval, renewsItself } from '../stored/renewal-due.ts'
import { attributeMembers, storedAttributes } from '../stored/stored-attributes.ts'

/** `RotateAutomatic` and `RotateInterval` (KMIP 2.1 §4.52, §4.54), which other protocols set, too. */
export const renewalAttributes: RenewalAttributes = {
  read(object) {
    const seconds = renewalInterval(object)
    return { automatic: renewsItself(object), everySeconds: seconds > 0 ? seconds : undefined }
  },
  members(object, { automatic, everySeconds }) {
    const others = storedAttributes(object).filter(
      ({ tag }) => tag !== Tag.RotateAutomatic && tag !== Tag.RotateInterval,
    )
    const every = everySeconds === undefined ? [] : [interval(Tag.RotateInterval, everySeconds)]
    return attributeMembers([...others, boolean(Tag.RotateAutomatic, automatic), ...every], object)
  },
  dueAt: renewalDueAt,
}
