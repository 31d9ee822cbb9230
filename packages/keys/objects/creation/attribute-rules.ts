import { tagText } from '@warder/kmip-codec'
import { type AttributeRule, attributeRules } from '../../attributes/attribute-table.ts'
import { refusal } from '../refusal.ts'

const byTag = new Map(attributeRules.map((rule) => [rule.tag, rule]))

/** The rule of an attribute by its tag; undefined when the tag is not that of an attribute. */
export function attributeRule(tag: number): AttributeRule | undefined {
  return byTag.get(tag)
}

/** @throws Refusal InvalidAttribute */
export function requireRule(tag: number): AttributeRule {
  const rule = attributeRule(tag)
  if (rule === undefined) throw refusal('InvalidAttribute', `${tagText(tag)} is no attribute.`)
  return rule
}
