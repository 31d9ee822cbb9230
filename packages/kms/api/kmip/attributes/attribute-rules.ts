import { atLeast, type KmipVersion, tagText } from '@warder/kmip/tables'
import { type AttributeRule, attributeRules } from '../../../keys/index.ts'
import { kmipFailure } from '../failure/failure.ts'

const byTag = new Map(attributeRules.map((rule) => [rule.tag, rule]))

/** Is the attribute removed from this version? */
export function isGoneFrom(version: KmipVersion, { until }: AttributeRule): boolean {
  return until !== undefined && !atLeast(until, version)
}

/** The rule of an attribute by its tag; undefined when the tag is not that of an attribute. */
export function attributeRule(tag: number): AttributeRule | undefined {
  return byTag.get(tag)
}

/** @throws kmipFailure InvalidAttribute */
export function requireRule(tag: number): AttributeRule {
  const rule = attributeRule(tag)
  if (rule === undefined) throw kmipFailure('InvalidAttribute', `${tagText(tag)} is no attribute.`)
  return rule
}
