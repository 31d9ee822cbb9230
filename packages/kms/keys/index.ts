export { abePolicyAttribute, abeVendor, shortIdentifier } from './attribute-index-store.ts'
export {
  type AttributeName,
  type AttributeRule,
  type AttributeValues,
  attributeRules,
} from './attributes/attribute-table.ts'
export {
  certificateAttributes,
  digestAttribute,
  type PublicKeyKind,
  publicKeyKind,
} from './attributes/certificate-attributes.ts'
export {
  commonValue,
  defaultLease,
  indexDate,
  indexValue,
  memberIndexName,
  toIndexText,
  vendorIndexName,
} from './attributes/index-value.ts'
export {
  defaultKeyFormat,
  digestFormats,
  domainMembers,
  ellipticCurve,
  type HalfType,
  isEcKey,
  type KeyFormat,
  rsaMembers,
  transparentTypes,
  writeKeyMaterial,
} from './attributes/key-material.ts'
export {
  type AlgorithmName,
  byteKeysOf,
  type CurveName,
  curveByName,
  findKeyColumns,
  kmipKeyKind,
  toKmipAlgorithm,
  toStoredKeyKind,
} from './attributes/key-names.ts'
export {
  type IndexGaps,
  ObjectAttributes,
  toStoredValue,
} from './attributes/object-attributes.ts'
export { attributesForReplacement, passesToReplacement } from './attributes/replacement.ts'
export * from './budget-look.ts'
export {
  type BudgetMark,
  budgetMark,
  budgetsToLookAt,
  countEnding,
  type DueBudget,
  lookNoLaterThan,
  useRetryMs,
} from './budget-look-store.ts'
export { countByState } from './count-by-state-store.ts'
export * from './create.ts'
export * from './gcm-budget.ts'
export { findReservedInvocations, maxInvocations } from './gcm-budget-store.ts'
export * from './inventory-store.ts'
export * from './key-ring.ts'
export * from './last-use.ts'
export { sweepUses, toDay, useNowChanges, usersSince } from './last-use-store.ts'
export * from './managed-object.ts'
export * from './may-use.ts'
export {
  addTagChanges,
  findTags,
  maxTags,
  otherHalfIds,
  type PairMember,
  removeTagChanges,
  tagsOfPair,
} from './name-link-tag-store.ts'
export * from './object-id.ts'
export { type ObjectRow, objectColumns, storedLinks, storedNames, toObject } from './object-row-store.ts'
export * from './object-store.ts'
export * from './other-half.ts'
export { type NewPair, type PairPlan, pairPlan } from './pair-plan.ts'
export * from './pending-destruction.ts'
export { newQuantumSafePair } from './quantum-safe-pair.ts'
export * from './refusal.ts'
export { type Explanation, explain, reasonOfKind, toRefusal } from './refusal-reasons.ts'
export { forgetReservations, moveReservations, sweepReservations } from './removed-id-store.ts'
export * from './replace-object.ts'
export * from './rotation-due-store.ts'
export * from './rotation-plan.ts'
export * from './rotation-plan-store.ts'
export * from './rotation-policy.ts'
export * from './rotation-schedule.ts'
export * from './running-time-store.ts'
export * from './settable-dates.ts'
export { stageUse } from './stage-use.ts'
export * from './state-machine.ts'
export * from './unit-of-work.ts'
export * from './version-rotate.ts'
export * from './version-store.ts'
export * from './version-use.ts'
