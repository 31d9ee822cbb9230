export { forgetsSecrets, formatAction, type RotationAction, readAction } from './abe/actions.ts'
export { countItems, readFraming, sealRequest } from './abe/data.ts'
export {
  abeAlgorithm,
  abeBits,
  abeForm,
  abeMaterial,
  issueUserKey,
  requireAbe,
  rotateMaster,
} from './abe/managed-keys.ts'
export { type NewAbeObjects, newMasterObjects, newUserObject } from './abe/new-objects.ts'
export { abeThread, inFailures } from './abe/thread.ts'
export { listUserKeys, userKeysWithout } from './abe/user-key-store.ts'
export { type AliasName, fullForm, ownForm, parseAlias, readOwnAlias } from './access/alias-name.ts'
export {
  type Alias,
  aliasCreation,
  aliasesNamed,
  aliasesOfKey,
  aliasId,
  aliasMove,
  aliasRemoval,
  countAliases,
  findAlias,
  listAliases,
  ownAliasesOfMany,
} from './access/alias-store.ts'
export { createAliases, maxAliases, resolveKid } from './access/aliases.ts'
export { createApprovalPolicy, toVoteRule } from './access/approval-policy.ts'
export {
  type ApprovalRequest,
  findRequest,
  type Governance,
  listRequests,
  requestChange,
  runningRequests,
  stateChange,
  sweepRequests,
  type Vote,
  voteChange,
  votesOn,
  type Wish,
} from './access/approval-store.ts'
export {
  approvalNeeded,
  approvalsAmong,
  hashRequest,
  isBeyondReach,
  requireApproval,
  requireApprovedCredential,
  requireKeptTags,
  requireNoApproval,
  requirePartsMayGo,
  requireVoteCredential,
} from './access/approvals.ts'
export { createAuditedItem, recordItems } from './access/audited-items.ts'
export {
  blockChanges,
  countBlocks,
  isBlocked,
  listBlocks,
  readBlocks,
  unblockChanges,
} from './access/block-store.ts'
export { type Blocks, createBlocks, maxBlocks } from './access/blocks.ts'
export { activateByShares, beginCeremony, type CeremonyServices, type Share } from './access/ceremony.ts'
export {
  readSetCredentials,
  readWaitingCredentials,
  requireCredentialWaited,
} from './access/credential-wait-store.ts'
export {
  type ExternalStoreName,
  everyPrincipal,
  externalPrefix,
  externalPrincipal,
  externalStoreNames,
  foldAscii,
  foldEmail,
  isEveryPrincipal,
  isStoreItself,
  normalizeName,
  principalNamed,
  storeOfName,
  unauthorized,
} from './access/external-names.ts'
export {
  adoptGovernance,
  digestOfGovernance,
  requireAdoptable,
  rootKeyApproval,
  toGovernance,
} from './access/governance.ts'
export {
  findRightsForAny,
  findRightsForEither,
  grantChanges,
  grantsOn,
  hasGrantWithPrefix,
  hasRoomForGrantee,
  isGrantedToAny,
  revokeChanges,
} from './access/grant-store.ts'
export {
  findGrants,
  findGroupsOfName,
  formatWay,
  type GrantWay,
  groupPrefix,
  hasRoomForTagGrant,
  listGrantees,
  rolePrefix,
  tagGrantChanges,
  tagGrantsOn,
  tagRevokeChanges,
} from './access/grantee-store.ts'
export {
  compareLists,
  findGroup,
  type Group,
  groupCounts,
  isGroupName,
  isGroupOwner,
  type ListChange,
  listGroups,
  readGroupLists,
  requireGroupPresent,
} from './access/group-store.ts'
export {
  findGroupPath,
  groupBounds,
  isGroupOrRoleName,
  planGroup,
  planGroupRemoval,
  readGroupName,
  readGroupOrRole,
  readLists,
} from './access/groups.ts'
export {
  type AccessServices,
  createAccess,
  governor,
  isGovernor,
  keyRight,
  publicAccess,
  type Resolved,
  requireCreate,
  requirePermittedKey,
  requirePrincipal,
  signedIn,
} from './access/key-access.ts'
export { afterCountingUse, requireHmacKeyUse, requireKeyUse } from './access/key-use.ts'
export { findLeaving, type Leaving, type LeavingKind } from './access/leaver-store.ts'
export { createNamedKeys, type NamedKeys } from './access/named-keys.ts'
export { createNames, endedPrefix, endName, type Names, transfer } from './access/names.ts'
export { listObtainedObjects } from './access/obtained-store.ts'
export {
  activationChange,
  endActivationsChange,
  findCeremony,
  latestCeremony,
  runningActivation,
} from './access/officer-store.ts'
export { createOfficers, requiresActivation, votersAmong, wasRevoked } from './access/officers.ts'
export {
  countHoldings,
  materialGrantedTo,
  namesThatVote,
  ownsAnything,
  voidVotes,
} from './access/ownership-store.ts'
export { PastRights, type RightsReader } from './access/past-rights.ts'
export {
  createDestructionPolicy,
  decideOn,
  exportRights,
  hasAuditRight,
  hasCreateRight,
  hasExternalRight,
  isBoundToOwnRights,
  keyNotFound,
  mayCreate,
  officerAccess,
  type Roles,
  requireAllowed,
  requireTagChange,
  type Verdict,
  verdictOn,
} from './access/permission.ts'
export {
  openPermittedKey,
  type Requester,
  requirePermittedObject,
  resolveIdentifier,
  versionForm,
} from './access/permitted-object.ts'
export { findUnrecordedReset, policyToReset, resetPolicy } from './access/policy-reset.ts'
export { ownerQuota } from './access/quota.ts'
export {
  granteesPart,
  granteeTagsPart,
  grantsPart,
  ownersPart,
  type ReportCursor,
  type ReportPart,
  type ReportRow,
  type ReportScope,
  type ReportSubject,
  readReport,
  reportWays,
} from './access/report-store.ts'
export { createRestoreGate, holdRestored, type RestoreGate, releaseChanges } from './access/restore.ts'
export { findHold } from './access/restore-store.ts'
export {
  allUsers,
  anyObject,
  createRight,
  externalRight,
  type GeneralRight,
  generalRights,
  materialRights,
  parseRights,
  type Right,
} from './access/right.ts'
export { recordRights } from './access/rights-journal.ts'
export {
  addRestoreToRightsJournal,
  isAnyRightChangePending,
  rightsJournalStatements,
} from './access/rights-journal-store.ts'
export { type ApprovableOnObject, type Askable, approvableOnObjects, askable } from './access/settings.ts'
export { findLiveSubject } from './access/subject-store.ts'
export { type AttributeRule, attributeRules } from './attributes/attribute-table.ts'
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
  type CurveName,
  curveByName,
  findByteKeyFamily,
  findKeyColumns,
  kmipKeyKind,
  toKmipAlgorithm,
  toStoredKeyKind,
} from './attributes/key-names.ts'
export { type IndexGaps, ObjectAttributes, toStoredValue } from './attributes/object-attributes.ts'
export { attributesForReplacement, passesToReplacement } from './attributes/replacement.ts'
export { bulkThread, largeMember, openLarge, sealLarge } from './bulk/bulk.ts'
export { findKeyInHsm, listKeysInHsm, type RegistrableHsmKey } from './hsm/existing-hsm-key.ts'
export { hsmKeyStatements, listDueHsmKeys } from './hsm/hsm-key-store.ts'
export {
  createHsms,
  type Hsm,
  type Hsms,
  hsmPrefix,
  requireHsm,
  requireHsmAdmin,
  type Wrapping,
  type WrappingRule,
  type WrappingUse,
} from './hsm/hsms.ts'
export {
  createHsmKey,
  type HsmKeyMaterial,
  toHsmKeySpec,
} from './hsm/new-hsm-key.ts'
export { removeDueHsmKeys } from './hsm/remove-due.ts'
export {
  beginFirstWalk,
  countWrappedObjects,
  findWrappingWalk,
  hsmWrappingStatements,
  listIdsOfKey,
  listMarkedForWrapping,
  markForWrapping,
  repeatWalk,
  saveWalk,
  unmarkForWrapping,
  type WrappingMark,
  type WrappingWalk,
} from './hsm/wrapping-store.ts'
export { abePolicyAttribute, abeVendor, shortIdentifier } from './objects/attribute-index-store.ts'
export {
  type BudgetStep,
  budgetMark,
  budgetStep,
  budgetsToLookAt,
  countEnding,
  type DueBudget,
  isEnding,
  lookNoLaterThan,
  type MessageLimit,
  nextLook,
  noticeFrom,
  useRetryMs,
} from './objects/budget-look-store.ts'
export { countByState } from './objects/count-by-state-store.ts'
export { encrypts, type NewHalf, newKeyObjects, toUsageMask } from './objects/create.ts'
export { applyCreationRules, type CreationServices, stageNew } from './objects/creation/apply-rules.ts'
export {
  type AttributeSource,
  checkValue,
  dateOrder,
  nameValue,
  requireAttributeDateOrder,
  requireHardwareStorage,
  requireRoomFor,
  requireSoftwareStorage,
} from './objects/creation/attribute-checks.ts'
export {
  attributeRule,
  type CreationRules,
  checkConstraints,
  checkDefaults,
  noRules,
  requireRule,
  withDefaults,
} from './objects/creation/creation-rules.ts'
export { readRules, replaceRules } from './objects/creation/creation-rules-store.ts'
export {
  buildNewObject,
  type NewObjectRequest,
  randomNumberGenerator,
  readClientId,
  stageNewObject,
} from './objects/creation/new-object.ts'
export { stageHsmRegistration } from './objects/creation/register-hsm-key.ts'
export { stageReplacementPair } from './objects/creation/replacement-pair.ts'
export {
  type AttributeMembers,
  algorithmNode,
  attributeMembers,
  defaultAlgorithm,
  isSameInstance,
  isTyped,
  linkNode,
  readStoredAttributes,
  readStoredWithTag,
  toMembers,
  typedMemberNames,
  typeText,
  withIndexGaps,
  withStoredAttributes,
  writeAttributes,
} from './objects/creation/stored-attributes.ts'
export {
  isServerName,
  isTagName,
  ownVendor,
  readTags,
  readVendorName,
  requireVendorName,
  tagAttribute,
  type VendorName,
} from './objects/creation/vendor-name.ts'
export { createGcmBudgets, type GcmBudgets } from './objects/gcm-budget.ts'
export { findReservedInvocations, maxInvocations } from './objects/gcm-budget-store.ts'
export {
  allowsUse,
  createHsmHalves,
  findHsmTarget,
  type HsmTarget,
  nextHsmTarget,
} from './objects/hsm-halves.ts'
export { rewrapObject } from './objects/hsm-rewrap.ts'
export { requireNotWrapping } from './objects/hsm-wrapping.ts'
export { findObjectsByIds, inventoryPage, type Listed, tagsOfMany } from './objects/inventory-store.ts'
export {
  type InventoryCursor,
  type InventoryFilter,
  isWalk,
  type Range,
} from './objects/inventory-walk-store.ts'
export { createKeyRing, Key, type KeyRing, openKey } from './objects/key-ring.ts'
export { createLastUses, type LastUses } from './objects/last-use.ts'
export { sweepUses, toDay, useNowChanges, usersSince } from './objects/last-use-store.ts'
export {
  type AbeForm,
  type Extractability,
  findLinkTarget,
  getChainId,
  type ManagedObject,
  type MaterialForm,
  type NewObject,
  newObjectDefaults,
  type ObjectLink,
  objectTypes,
} from './objects/managed-object.ts'
export {
  allows,
  mayUse,
  type Usage,
  type UseRefusal,
  unrestricted,
  usage,
  usageMask,
} from './objects/may-use.ts'
export {
  addTagChanges,
  findTags,
  maxTags,
  otherHalfIds,
  removeTagChanges,
} from './objects/name-link-tag-store.ts'
export { aliasPrefix, asObjectId, isUuid, newObjectId, type ObjectId } from './objects/object-id.ts'
export {
  type ObjectRow,
  objectColumns,
  storedLinks,
  storedNames,
  toObject,
} from './objects/object-row-store.ts'
export {
  findObject,
  findPrivateKeyId,
  findWithMaterial,
  isAnyWaiting,
  lifeCycleChanges,
  listIdsWithMaterial,
  listOwnedObjects,
  objectsAwaitingDestruction,
  objectsEndingBetween,
  otherHalf,
  overdueObjects,
  publicKeysWithTag,
  requirePresent,
  touchChanges,
  updateChanges,
  wholeKey,
  withholdingChanges,
} from './objects/object-store.ts'
export { type PairPlan, pairPlan } from './objects/pair-plan.ts'
export { destroyAfterWait, isDestructionDue, restored, waiting } from './objects/pending-destruction.ts'
export { newQuantumSafePair } from './objects/quantum-safe-pair.ts'
export { Refusal, refusal, requireUse, stageUse, takeUse } from './objects/refusal.ts'
export { type Explanation, explain, reasonOfKind, toRefusal } from './objects/refusal-reasons.ts'
export { forgetReservations, sweepReservations } from './objects/removed-id-store.ts'
export { findLinkedHalf, hasVersions, linkReplacement, requireReplaceable } from './objects/replace-object.ts'
export {
  afterFailure,
  computeRotationPlan,
  isNoticeDue,
  lookAfter,
  type RotationPlan,
  waitsForRetry,
} from './objects/rotation-plan.ts'
export {
  adoptPolicy,
  dueRotations,
  findRotationPlan,
  isLookDue,
  keysToLookAt,
  type LookedAt,
  listMisdatedRotations,
  planAlone,
  planChange,
} from './objects/rotation-plan-store.ts'
export {
  maxInterval,
  maxMessages,
  minInterval,
  type RotationPolicy,
  resolveSchedule,
} from './objects/rotation-policy.ts'
export {
  copySchedule,
  hasOwnSchedule,
  isScheduleChanged,
  renewalDueAt,
  renewalSettings,
  scheduleIn,
  withRenewal,
  withRotation,
} from './objects/rotation-schedule.ts'
export { look, lookEveryMs, runningTime } from './objects/running-time-store.ts'
export { requireDateOrder, settableDates, type WantedDates, withDates } from './objects/settable-dates.ts'
export {
  type LifeCycle,
  type LifeCycleEvent,
  type State,
  stateAt,
  states,
  transition,
  type Withholding,
  withheld,
  withheldSentences,
} from './objects/state-machine.ts'
export {
  identifierTaken,
  type ObjectChange,
  UnitOfWork,
  type UnitOfWorkServices,
} from './objects/unit-of-work.ts'
export {
  firstRotation,
  nextRotation,
  replacementMembers,
  rotatable,
  stageRotation,
} from './objects/version-rotate.ts'
export {
  findKeyVersion,
  keyRemovalChanges,
  listKeyVersions,
  maxVersions,
  withVersions,
} from './objects/version-store.ts'
export {
  isLaterVersion,
  type KeyReader,
  newestVersion,
  processingVersion,
  protectingVersion,
  versionNumber,
  versionsToTry,
} from './objects/version-use.ts'
